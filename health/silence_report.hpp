// SPDX-License-Identifier: Apache-2.0
// The root's part in processes that say nothing though they should (DESIGN D25): the user reads of them. What
// else is done about them is their launchers' to do.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "health/silences.hpp"
#include "tree/job/judge.hpp"
#include "tree/turn/events.hpp"

namespace charmtree::proto {

class SilenceReport {
public:
  /// `hosts` are the job's.
  SilenceReport(std::shared_ptr<const wire::JobSpec> job, const std::vector<Host>& hosts)
      : job_(std::move(job)), hosts_(hosts) {}

  void on(const wire::Silence& told, Instant now) { silences_.on(told, now); }
  /// These are lost or have ended.
  void gone(wire::ProcessSet::Range processes) { silences_.gone(processes); }
  /// How the job ends has been decided.
  void decided() { at_end_ = silences_.silent(); }
  /// True: some have been reported to hang.
  bool turn(const Judge& judge, Instant now, Actions& out);
  Instant next_deadline() const { return silences_.next_deadline(); }

  std::uint32_t count() const { return silences_.count(); }
  /// Processes that were silent when the job's end was decided.
  const wire::ProcessSet& at_end() const { return at_end_; }

private:
  std::shared_ptr<const wire::JobSpec> job_;
  const std::vector<Host>& hosts_;
  Silences silences_;
  wire::ProcessSet at_end_;
};

}  // namespace charmtree::proto
