// SPDX-License-Identifier: Apache-2.0
// When the processes of an MPI program have come to MPI_Init, as the root hears of it: for ++report, and, if
// some of them do not come, a line with what they are offered: a library that looks for its launcher in
// another way waits for ever, or takes each process for the only one.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "tree/job/judge.hpp"
#include "tree/turn/events.hpp"

namespace charmtree::proto {

class InitReport {
public:
  explicit InitReport(std::shared_ptr<const wire::JobSpec> job) : job_(std::move(job)) {}

  /// Nothing is known of who has come.
  void tell_nothing() { is_told_ = true; }
  /// So many more have come.
  void joined(std::uint32_t processes) { joined_ += processes; }
  /// Looks at what has changed; once each, when all have come, or when some have not for ++timeout since all
  /// were started.
  void turn(const Judge& judge, Instant now, Actions& out);
  Instant next_deadline() const { return is_told_ ? kNever : late_at_; }

private:
  std::shared_ptr<const wire::JobSpec> job_;
  std::uint32_t joined_ = 0;
  Instant first_ = kNever;  // when some had come
  Instant late_at_ = kNever;
  bool is_told_ = false, is_recorded_ = false;
};

}  // namespace charmtree::proto
