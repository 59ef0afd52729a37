// SPDX-License-Identifier: Apache-2.0
// How long one client has said nothing, whether it is time to look at its process, and what follows from what
// is seen there. A silence that is told is told once, and its end. Who has come back by himself is given
// twice as long the next time: he computes.
#pragma once

#include <cstdint>
#include <optional>

#include "tree/base/time.hpp"
#include "tree/wire/silence.hpp"

namespace charmtree::proto {

/// What was seen of a process, and of its connection.
enum class Sight : std::uint8_t {
  running,  // or asleep, or nothing was seen
  stopped,  // by a signal
  traced,   // by a debugger
  unread,   // what it has said waits for us
};

class ClientSilence {
public:
  /// It says something. How long it had been silent, if that was told.
  std::optional<Duration> heard(Instant now);
  /// What it had waited for is on its way to it: look() is due, which knows when that was.
  void answered() { answered_ = true; }
  /// When look() is due, if so long a silence is none.
  Instant due(Duration patience) const;
  /// True: its process should be looked at, and seen() be called. `owes`: it waits for nothing from us.
  bool look(Instant now, bool owes);
  /// What is to be told, if anything.
  std::optional<wire::Silence::State> seen(Sight sight, Instant now);
  /// Precondition: something has been told.
  Duration lasted(Instant now) const { return now - told_since_; }

private:
  void tell();

  Instant since_{}, from_{};  // it is silent; the time to the next look counts
  Instant told_since_{};
  Duration learned_{0};  // that it can be silent for
  bool answered_ = false, asked_ = false, stopped_ = false, hung_ = false, told_ = false;
};

}  // namespace charmtree::proto
