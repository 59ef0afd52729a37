// SPDX-License-Identifier: Apache-2.0
// Time as the job sees it: it stands still while the job is suspended. All deadlines of a launcher are in
// this time, so that none of them comes nearer meanwhile.
#pragma once

#include "tree/base/time.hpp"

namespace charmtree::proto {

class JobClock {
public:
  bool stands() const { return since_ != kNever; }
  /// It is `real` now.
  void stop(Instant real) {
    if (!stands()) since_ = real;
  }
  void go_on(Instant real) {
    if (!stands()) return;
    lost_ += real - since_;
    since_ = kNever;
  }

  /// The job's time when it is `real`.
  Instant at(Instant real) const { return (stands() ? since_ : real) - lost_; }
  /// When the job's time will be `time`; kNever while it stands still.
  Instant real(Instant time) const { return stands() || time == kNever ? kNever : time + lost_; }

private:
  Instant since_ = kNever;
  Duration lost_{0};
};

}  // namespace charmtree::proto
