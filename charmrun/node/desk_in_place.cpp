// SPDX-License-Identifier: Apache-2.0
// The desk's part in starting single processes again where they were (++on-failure restart), of programs that
// are not Charm++'s.
//
// Input that was given to the old life of a process is not given again: it may have been read. From the time
// that its loss is known until the order for the next life none is read, so that of what follows none is
// lost.
#include <fmt/format.h>

#include "charmrun/node/root_desk.hpp"
#include "tree/wire/words.hpp"

namespace charmtree {

using namespace proto;

void RootDesk::restart(const wire::ProcessExit& exit, Instant now, Actions& out, DeskOrders& orders) {
  const bool has_registered = exit.registered || exit.ended;
  const std::string hopeless = process_restarts_->lost(exit.process, has_registered, now);
  if (!hopeless.empty()) return judge_.lost(exit, hopeless);
  last_exits_[exit.process] = exit;
  const std::uint32_t times = process_restarts_->restarts(exit.process);
  judge_.restarted(exit.process, times);
  const std::string again = times > 1 ? fmt::format(", for the {} time", ordinal(times)) : "";
  out.push_back(Say{Tone::error, fmt::format("{}; restarting it{}", judge_.about(exit), again)});
  if (ccs_) ccs_->gone(exit.process, now, out, orders.process);
  input_.restarts(exit.process);
  if (tells_progress_) {
    const std::uint32_t host = judge_.host_of(exit.process).index;
    progress_.restarts.push_back({exit.process, host, times, describe(exit)});
  }
}

/// One that was not awaited is in the first table.
void RootDesk::rejoined(const wire::Rejoined& message, Instant now) {
  const std::uint32_t host = judge_.host_of(message.process).index;
  if (!process_restarts_->rejoined(message, host, now))
    judge_.registered({host, message.process, message.address, {{message.port, message.tuple}}}, now);
}

void RootDesk::restart_in_place(Instant now, Actions& out, DeskOrders& orders) {
  if (judge_.verdict()) return;
  move_processes(now, out, orders);
  for (const wire::ProcessExit& exit : judge_.take_crashes()) {
    restart(exit, now, out, orders);
    if (judge_.verdict()) return;
  }
  if (const auto late = process_restarts_->late(now)) {
    return judge_.lost(last_exits_.at(*late),
                       fmt::format("it was restarted and has not registered within {:g} s; see ++timeout",
                                   seconds(job_->timeout)));
  }
  ProcessRestarts::Orders due = process_restarts_->take_orders(judge_.opened(BarrierKind::all), now);
  if (due.renewed) {
    judge_.begin_epoch(due.renewed->epoch);
    orders.everyone.emplace_back(std::move(*due.renewed));
  }
  for (wire::Readmit& message : due.readmissions) {
    out.push_back(Say{Tone::verbose, fmt::format("process {} is back", message.process)});
    orders.process.emplace_back(message.process, std::move(message));
  }
  for (wire::Restart& message : due.restarts) {
    message.input_ended = input_.has_ended_for(message.process);
    orders.process.emplace_back(message.process, message);
  }
}

/// What is read of the user's input now comes to somebody. Of copies all wait until each one has its reader.
bool RootDesk::has_reader() const {
  if (restarting_ || !judge_.all_up()) return false;
  if (!process_restarts_) return true;
  return job_->input_to_all ? !process_restarts_->is_any_absent()
                            : !process_restarts_->is_absent(job_->input_process);
}

}  // namespace charmtree
