// SPDX-License-Identifier: Apache-2.0
#include "tree/proto/child.hpp"

namespace charmtree::proto {

void Child::on(Event event) {
  state_ = next(state_, event).value_or(state_);
}

void Child::hello(Instant clock, Instant now) {
  if (clock_offset_) return;
  const Instant middle = welcomed + (now - welcomed) / 2;
  clock_offset_ = clock - middle;
}

Instant Child::in_our_clock(Instant time) const {
  if (time == kNever) return kNever;
  time -= clock_offset_.value_or(Duration{0});
  return std::chrono::abs(time.time_since_epoch()) > wire::kFarthest.time_since_epoch() ? kNever : time;
}

void Child::forget_processes() {
  registered = finished = 0;
  queue_pairs = 0;
}

void Child::begin_run() {
  forget_processes();
  crash_acks = 0;
  idle = false;
}

}  // namespace charmtree::proto
