// SPDX-License-Identifier: Apache-2.0
// The time that the user allows a job, from its beginning on, all runs of its program included.
#pragma once

#include "tree/base/time.hpp"

namespace charmtree::proto {

class TimeLimit {
public:
  /// 0: none.
  explicit TimeLimit(Duration limit) : limit_(limit) {}

  void begin(Instant now) {
    if (limit_ > Duration{0}) at_ = now + limit_;
  }
  /// True once.
  bool is_reached(Instant now) {
    if (now < at_) return false;
    at_ = kNever;
    return true;
  }
  /// The job ends before.
  void lift() { at_ = kNever; }
  Instant next_deadline() const { return at_; }

private:
  Duration limit_;
  Instant at_ = kNever;
};

}  // namespace charmtree::proto
