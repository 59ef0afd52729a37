// SPDX-License-Identifier: Apache-2.0
// The part of HostProcesses that deals with lost processes: it starts them anew, or goes on without them, and
// lets the others know of it. Who waits for whom in between is a matter of the program's protocol: Charm++'s
// wait until all know (recover, admit), a client library's for nobody (renewed, readmit), others know nothing
// of each other. A process that is still alive when it is to be replaced (only its connection
// was lost) is killed first: a number has one process at a time.
#include <fmt/format.h>

#include <utility>

#include "tree/base/signals.hpp"
#include "tree/proto/binding.hpp"
#include "tree/proto/host_processes.hpp"

namespace charmtree::proto {

void HostProcesses::join(const wire::Share& share) {
  for (std::uint32_t i = 0; i < share.processes; ++i) {
    const std::uint32_t process = share.first_process + i;
    if (local_.contains(process)) continue;
    local_.joined.push_back(process);
    processes_.emplace_back();
    for (const auto& server : servers_) server->join(process);
    const std::uint32_t rank = local_.rank_of(process);
    if (host_.cpus) bindings_.push_back(binding_of(*job_, *host_.cpus, rank));
  }
}

void HostProcesses::restart(const wire::Restart& message, Instant now, Actions& out, Upward& up) {
  if (ending_) return;
  Process& process = at(message.process);
  const bool awaited = message.awaited || process.awaited || process.kind;
  ask_each([&](ClientServer& each,
               ClientOutputs& outputs) { each.vacate(message.process, message.restarts, awaited, outputs); },
           now, out, up);
  process.next = message;
  if (process.state == Process::State::starting || process.state == Process::State::running)
    out.push_back(Signal{name_of(message.process), signals::kKill});
  else
    start_anew(message.process, out);
}

void HostProcesses::start_anew(std::uint32_t number, Actions& out) {
  if (ending_) return;
  Process& process = at(number);
  if (process.exit) --waiting_exits_;
  const wire::Restart order = *process.next;
  const std::string input = std::move(process.input_of_next);
  const bool awaited = order.awaited || process.awaited || process.kind.has_value();
  wire::Tuple told = std::move(process.tuple);  // that of a host's first table, of which there may be others
  process = Process{};
  process.restarts = order.restarts;
  process.awaited = awaited;
  process.tuple = std::move(told);
  std::vector<std::string> arguments;
  if (job_->restarts_processes)
    arguments = {"+restartaftercrash", fmt::format("{}", order.phase), "+restartisomalloc"};
  start_process(number, std::move(arguments), out);
  if (!input.empty() || order.input_ended) write_input(number, input, order.input_ended, out);
}

void HostProcesses::write_input(std::uint32_t number, const std::string& bytes, bool end, Actions& out) {
  Process& process = at(number);
  if (!process.next) return out.push_back(WriteInput{name_of(number), bytes, end});
  process.input_of_next += bytes;
  process.next->input_ended = process.next->input_ended || end;
}

/// Of processes that have ended, or whose protocol tells them nothing, nobody waits to hear that they know.
void HostProcesses::recover(const wire::Recover& message, Instant now, Actions& out, Upward& up) {
  epoch_ = wire::epoch_of(*message.table);
  up.facts.epoch = epoch_;
  ask_each([&](ClientServer& each,
               ClientOutputs& outputs) { each.recover(message.table, message.crashed, outputs); },
           now, out, up);
  for (const Process& process : processes_) {
    const bool acks = abilities_of(process).restart == Abilities::Restart::with_all;
    if (acks ? process.ended : !process.awaited) ++up.facts.crash_acks;
  }
}

void HostProcesses::admit(std::uint32_t process, Instant now, Actions& out, Upward& up) {
  ask_each([&](ClientServer& each, ClientOutputs& outputs) { each.admit(process, outputs); }, now, out, up);
}

/// Clients enter barriers again, but for the one of those that leave: who has said that is heard no more.
void HostProcesses::renewed(const wire::Renewed& message, Instant now, Actions& out, Upward& up) {
  epoch_ = message.epoch;
  up.facts.epoch = epoch_;
  constexpr auto kLeave = static_cast<std::size_t>(BarrierKind::leave);
  for (Process& process : processes_) {
    const bool leaves = process.entered[kLeave];
    process.entered = {};
    process.entered[kLeave] = leaves;
    up.facts.barrier[kLeave] += leaves ? 1 : 0;
  }
  ask_each([&](ClientServer& each, ClientOutputs& outputs) { each.renewed(message, outputs); }, now, out, up);
}

void HostProcesses::readmit(const wire::Readmit& message, Instant now, Actions& out, Upward& up) {
  ask_each([&](ClientServer& each, ClientOutputs& outputs) { each.readmit(message, outputs); }, now, out, up);
}

/// A process that is lost for its connection alone must not live on: the others do without it.
void HostProcesses::lost(const wire::Lost& message, Instant now, Actions& out, Upward& up) {
  epoch_ = message.epoch;
  for (const std::uint32_t number : local_.among(message.processes)) {
    Process& process = at(number);
    process.entered = {};
    if (process.state == Process::State::starting || process.state == Process::State::running)
      out.push_back(Signal{name_of(number), signals::kKill});
  }
  up.facts.epoch = epoch_;
  for (const Process& process : processes_) {
    for (std::size_t kind = 0; kind < kBarrierKinds; ++kind)
      up.facts.barrier[kind] += process.entered[kind] ? 1 : 0;
  }
  ask_each([&](ClientServer& each, ClientOutputs& outputs) { each.lost(message.processes, outputs); }, now,
           out, up);
}

}  // namespace charmtree::proto
