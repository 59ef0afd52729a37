// SPDX-License-Identifier: Apache-2.0
#include "tree/turn/losses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace charmtree::proto {

using Range = wire::ProcessSet::Range;

void Losses::ended(const Ranges& processes) {
  for (const Range& range : processes) {
    for (const Range& part : lost_.missing(range)) ended_.add(part);
  }
}

Losses::Ranges Losses::lost(const Ranges& processes) {
  Ranges fresh;
  for (const Range& range : processes) {
    for (const Range& unknown : gone_.missing(range)) untold_.push_back(unknown);
    gone_.add(range);
    for (const Range& unfinished : ended_.missing(range)) {
      for (const Range& part : lost_.missing(unfinished)) fresh.push_back(part);
    }
  }
  for (const Range& range : fresh) lost_.add(range);
  return fresh;
}

void Losses::add(Loss loss) {
  if (++lines_ == kMaxLines) loss.line += "; of other losses only their number is told, at the end";
  if (lines_ > kMaxLines) loss.line.clear();
  news_.push_back(std::move(loss));
}

std::vector<Loss> Losses::take_news() {
  return std::exchange(news_, {});
}

std::string Losses::summary() const {
  const bool one = lost_.size() == 1;
  if (lost_.size() == job_.processes) return fmt::format("all {} processes were lost", job_.processes);
  std::string which = lost_.print();
  if (which.size() > kMaxWhich) which = which.substr(0, which.rfind(',', kMaxWhich)) + ",...";
  return fmt::format("{} of {} processes {} lost ({}); the job went on without {}", lost_.size(),
                     job_.processes, one ? "was" : "were", which, one ? "it" : "them");
}

void Losses::resume(std::uint32_t epoch, const Ranges& lost) {
  epoch_ = std::max(epoch_, epoch);
  for (const Range& range : lost) {
    gone_.add(range);
    for (const Range& unfinished : ended_.missing(range)) lost_.add(unfinished);
  }
  counts_anew_ = true;
}

std::optional<wire::Lost> Losses::tell(Instant now) {
  if (now < next_deadline()) return {};
  tell_at_ = now + kPause;
  counts_anew_ = false;
  awaited_ = job_.processes - static_cast<std::uint32_t>(gone_.size());
  wire::Lost message{++epoch_, std::exchange(untold_, {})};
  wire::fold(message.processes);
  return message;
}

}  // namespace charmtree::proto
