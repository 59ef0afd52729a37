// SPDX-License-Identifier: Apache-2.0
// The desk's part in a job that goes on when processes are lost: who hears of it.
#include "charmrun/node/root_desk.hpp"

#include <fmt/format.h>

namespace charmtree {

using namespace proto;

void RootDesk::go_on(Instant now, Actions& out, DeskOrders& orders) {
  for (const Loss& loss : judge_.take_losses()) {
    if (!loss.line.empty()) out.push_back(Say{Tone::error, loss.line});
    if (ccs_) ccs_->lost(loss.processes, now, out, orders.process);
    input_.lost(loss.processes, out);
    if (tells_progress_) progress_.losses.push_back(loss);
  }
  if (auto lost = judge_.tell_losses(now)) orders.everyone.emplace_back(std::move(*lost));
}

/// What was on its way to or from these processes may be lost: requests get no answer.
void RootDesk::repaired(const wire::Reached& reached, Instant now, Actions& out, DeskOrders& orders) {
  judge_.repaired();
  if (reached.host < hosts_.size())
    out.push_back(
        Say{Tone::info, hosts_[reached.host].name + ": its launcher, which was cut off, is reached again"});
  if (ccs_) ccs_->cut_off(reached.processes, now, out, orders.process);
  input_.cut_off(reached.processes, orders.of_input());
}

void RootDesk::resume(const Heritage& heritage, Actions& out, DeskOrders& orders) {
  judge_.resume(heritage);
  registering_ = heritage.has_table;
  out.push_back(
      Say{Tone::info, fmt::format("this is the root of job {} from now on: {} processes on {} hosts",
                                  job_->id, job_->processes, hosts_.size())});
  if (job_->input_process < job_->processes || job_->input_to_all)
    orders.input.emplace_back(wire::Input{{}, true});
}

}  // namespace charmtree
