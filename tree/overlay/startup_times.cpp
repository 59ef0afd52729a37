// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/startup_times.hpp"

#include <algorithm>
#include <utility>

#include "tree/overlay/launch.hpp"

namespace charmtree::proto {

void StartupTimes::tell(Turn& turn) {
  const Seat seat = turn.seat();
  if (!seat.job.reports.stamps || told_) return;
  told_ = true;
  stamps_.host = seat.self.index;
  turn.tell_up(stamps_);
}

void StartupTimes::record_logins(Turn& turn) {
  if (std::exchange(told_, true)) return;
  for (const auto& [link, child] : turn.seat().launch.children()) {
    if (!child.visits() && child.welcomed != kNever) turn.act(Record{child.stamps});
  }
}

void StartupTimes::up(const Child& child, wire::Stamps stamps, Turn& turn) {
  turn.seat().launch.subtree().stamped(stamps.host);
  for (Instant& time : stamps.times) {
    time = child.in_our_clock(time);
    // Clocks are joined no better than a message takes, but what has been told has happened.
    if (time != kNever) time = std::min(time, turn.now());
  }
  if (stamps.host == child.host.index) {
    std::copy_n(child.stamps.times.begin(), wire::Stamps::hello + 1, stamps.times.begin());
    stamps.parent = child.stamps.parent;
    stamps.level = child.stamps.level;
    stamps.attempts = child.stamps.attempts;
  }
  turn.tell_up(stamps);
}

}  // namespace charmtree::proto
