// SPDX-License-Identifier: Apache-2.0
// The desk's part in what happens between processes and their tables: the first one, and those that follow
// when a process was lost and is back.
#include <fmt/format.h>

#include "charmrun/node/root_desk.hpp"
#include "tree/wire/job_limits.hpp"

namespace charmtree {

using namespace proto;

void RootDesk::deliver_table(Instant now, Actions& out, DeskOrders& orders) {
  auto blocks = judge_.take_blocks();
  if (!blocks) return;
  wire::NodeTable table{tables_++, job_->pes_per_process, std::move(*blocks)};
  const wire::Blob coded = wire::encode(table);
  if (const auto fits = wire::check_table(table, coded->size()); !fits) return judge_.refuse(fits.error());
  has_charm_table_ = !table.is_native();
  if (!announced_) announce(now, out);
  orders.everyone.push_back(wire::TableDown{coded});
  const ccs::Programs programs{job_->processes, job_->pes_per_process, table.is_native()};
  if (ccs_) ccs_->start(programs, now, out, orders.process);
  if (process_restarts_)
    process_restarts_->begin(std::move(table));
  else if (job_->restarts_processes)
    crash_sequence_.emplace(std::move(table), job_->timeout);
}

void RootDesk::crashed(const wire::ProcessExit& exit, Instant now, Actions& out, DeskOrders& orders) {
  last_crash_ = exit;
  const std::string hopeless = crash_sequence_->lost(exit.process, now);
  if (!hopeless.empty()) return judge_.lost(exit, hopeless);
  out.push_back(Say{Tone::info, judge_.about(exit) + "; restarting it"});
  if (ccs_) ccs_->gone(exit.process, now, out, orders.process);
}

void RootDesk::restart_processes(Instant now, Actions& out, DeskOrders& orders) {
  if (process_restarts_) return restart_in_place(now, out, orders);
  const std::vector<wire::Rejoined> back = std::exchange(rejoined_, {});
  if (!crash_sequence_ || judge_.verdict()) return;
  for (const wire::Rejoined& message : back) crash_sequence_->rejoined(message, now);
  for (const wire::ProcessExit& exit : judge_.take_crashes()) {
    crashed(exit, now, out, orders);
    if (judge_.verdict()) return;
  }
  if (last_crash_ && !crash_sequence_->in_progress()) last_crash_.reset();
  if (last_crash_ && judge_.any_ended())
    return judge_.lost(*last_crash_, "it could not be restarted before others had ended");
  if (const auto late = crash_sequence_->late(now)) {
    return judge_.lost(*last_crash_,
                       fmt::format("process {} was restarted and has not registered within {:g} s; "
                                   "see ++timeout",
                                   *late, seconds(job_->timeout)));
  }
  for (wire::Message& message : crash_sequence_->take_orders()) {
    if (const auto* restart = std::get_if<wire::Restart>(&message)) {
      orders.process.emplace_back(restart->process, message);
    } else if (const auto* admit = std::get_if<wire::Admit>(&message)) {
      out.push_back(Say{Tone::verbose, fmt::format("process {} is back", admit->process)});
      orders.process.emplace_back(admit->process, message);
    } else if (const auto* recover = std::get_if<wire::Recover>(&message)) {
      judge_.begin_epoch(wire::epoch_of(*recover->table));
      orders.everyone.push_back(std::move(message));
    }
  }
}

}  // namespace charmtree
