// SPDX-License-Identifier: Apache-2.0
// A Charm++ client of another build than SMP hangs when its table gives it several PEs: without a word, or
// after some barriers and a line that says so. Both end the job, with what to do about it.
#pragma once

#include <string>
#include <string_view>

#include "tree/base/time.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::proto {

class SmpCheck {
public:
  /// Clients that count PEs are about to get their table.
  void table_comes(const wire::JobSpec& job, Instant now) {
    if (job.pes_per_process > 1) heard_by_ = now + job.timeout;
  }
  /// One of them has said something, or nobody needs to any more.
  void heard() { heard_by_ = kNever; }
  /// None of them has said anything in time, as is told of `process`, once.
  void tick(const wire::JobSpec& job, std::uint32_t process, Instant now, std::vector<wire::Message>& up);
  Instant next_deadline() const { return heard_by_; }
  /// What one of them prints may be that line.
  static void look(const wire::JobSpec& job, std::uint32_t process, std::string_view text,
                   std::vector<wire::Message>& up);

private:
  Instant heard_by_ = kNever;
};

}  // namespace charmtree::proto
