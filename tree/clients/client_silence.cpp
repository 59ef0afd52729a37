// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/client_silence.hpp"

#include <algorithm>
#include <utility>

namespace charmtree::proto {

std::optional<Duration> ClientSilence::heard(Instant now) {
  std::optional<Duration> over;
  if (std::exchange(told_, false)) over = lasted(now);
  if (std::exchange(hung_, false)) learned_ = std::max(learned_, 2 * *over);
  answered_ = asked_ = stopped_ = false;
  since_ = from_ = now;
  return over;
}

Instant ClientSilence::due(Duration patience) const {
  if (asked_ || hung_) return kNever;
  return answered_ ? from_ : from_ + std::max(patience, learned_);
}

/// Who was just answered may be silent from now on.
bool ClientSilence::look(Instant now, bool owes) {
  if (std::exchange(answered_, false) || !owes) {
    since_ = from_ = now;
    return false;
  }
  asked_ = true;
  return true;
}

std::optional<wire::Silence::State> ClientSilence::seen(Sight sight, Instant now) {
  if (!std::exchange(asked_, false)) return {};
  const bool was_stopped = std::exchange(stopped_, sight == Sight::stopped);
  from_ = now;
  if (sight == Sight::stopped) {
    if (was_stopped) return {};
    tell();
    return wire::Silence::State::stopped;
  }
  if (sight != Sight::running || was_stopped) {  // who goes on needs time to say so
    since_ = now;
    return {};
  }
  hung_ = true;
  tell();
  return wire::Silence::State::hung;
}

void ClientSilence::tell() {
  if (!std::exchange(told_, true)) told_since_ = since_;
}

}  // namespace charmtree::proto
