// SPDX-License-Identifier: Apache-2.0
#include "tree/job/smp_check.hpp"

#include <fmt/format.h>

#include "tree/base/exit_status.hpp"

namespace charmtree::proto {

namespace {

wire::AbortUp give_up(const wire::JobSpec& job, std::uint32_t process, const std::string& why) {
  return {process, kLauncherFailed,
          fmt::format(
              "{} a node table that gives each process {} PEs; leave out ++ppn and ++smp if this is no SMP "
              "build of Charm++",
              why, job.pes_per_process)};
}

}  // namespace

void SmpCheck::tick(const wire::JobSpec& job, std::uint32_t process, Instant now,
                    std::vector<wire::Message>& up) {
  if (now < heard_by_) return;
  heard_by_ = kNever;
  up.emplace_back(
      give_up(job, process, fmt::format("no sign of life within {:g} s of", seconds(job.timeout))));
}

void SmpCheck::look(const wire::JobSpec& job, std::uint32_t process, std::string_view text,
                    std::vector<wire::Message>& up) {
  if (job.pes_per_process <= 1) return;
  if (text.find("Charm++> Running in non-SMP mode") == std::string_view::npos) return;
  up.emplace_back(give_up(job, process, "it runs in non-SMP mode with"));
}

}  // namespace charmtree::proto
