// SPDX-License-Identifier: Apache-2.0
#include "tree/job/host_processes.hpp"

#include <algorithm>
#include <utility>

#include "tree/base/signals.hpp"

namespace charmtree::proto {

HostProcesses::HostProcesses(std::shared_ptr<const wire::JobSpec> job, const Host& self)
    : job_(std::move(job)),
      self_(self),
      own_(self, job_->processes),
      clients_(*job_, own_.local(), self.index) {}

void HostProcesses::prepare(bool is_held, Actions& out) {
  if (is_held) parts_.start.hold();
  out.push_back(Prepare{job_, self_});
}

void HostProcesses::start(const HostProcesses& prepared, Actions& out, Upward& up) {
  HostTurn turn = turn_of(kNever, out, up);
  parts_.start.begin(prepared.parts_.start.host(), turn);
}

void HostProcesses::spawn(Actions& out) {
  Upward none;
  HostTurn turn = turn_of(kNever, out, none);
  parts_.start.spawn(turn);
}

void HostProcesses::on(const ProcessExited& event, Instant now, Actions& out, Upward& up) {
  if (own_.at(event.process).state == OwnProcess::State::gone) return;
  HostTurn turn = turn_of(now, out, up);
  parts_.ends.on(event, turn);
  clients_.ask_its(
      own_.at(event.process),
      [&](ClientServer& its, ClientOutputs& outputs) { its.exited(event.process, outputs); }, turn, parts_);
  if (own_.at(event.process).successor.is_ordered()) start_successor(event.process, turn);
}

void HostProcesses::start_successor(std::uint32_t process, HostTurn& turn) {
  if (own_.phase().ending) return;
  parts_.ends.forget(process);
  parts_.start.start_successor(process, turn);
}

void HostProcesses::tick(Instant now, Actions& out, Upward& up) {
  HostTurn turn = turn_of(now, out, up);
  parts_.smp.tick(*job_, local().first, now, up.messages);
  clients_.tick(turn, parts_);
  mpi_look_.tick(turn);
  for (const std::uint32_t process : own_.due(now)) {
    own_.at(process).output.tick(now, turn.way_of(process));
    parts_.ends.tick(process, turn);
  }
}

Instant HostProcesses::next_deadline() const {
  return std::min({own_.next_deadline(), parts_.smp.next_deadline(), clients_.next_deadline(),
                   mpi_look_.next_deadline()});
}

void HostProcesses::table(const wire::Blob& coded, Instant now, Actions& out, Upward& up) {
  HostTurn turn = turn_of(now, out, up);
  clients_.table(coded, turn, parts_);
}

void HostProcesses::release(BarrierKind barrier, Instant now, Actions& out, Upward& up) {
  HostTurn turn = turn_of(now, out, up);
  HostBarriers::opened(barrier, turn);
  clients_.ask_each([&](ClientServer& each, ClientOutputs& outputs) { each.release(barrier, outputs); }, turn,
                    parts_);
}

void HostProcesses::printed(std::uint32_t process, Instant now, Actions& out, Upward& up) {
  if (!contains(process)) return;
  HostTurn turn = turn_of(now, out, up);
  clients_.ask_its(
      own_.at(process), [&](ClientServer& its, ClientOutputs& outputs) { its.printed(process, outputs); },
      turn, parts_);
}

void HostProcesses::scanned(std::uint32_t process, std::string_view input, Instant now, Actions& out,
                            Upward& up) {
  if (!contains(process)) return;
  HostTurn turn = turn_of(now, out, up);
  clients_.ask_its(
      own_.at(process),
      [&](ClientServer& its, ClientOutputs& outputs) { its.scanned(process, input, outputs); }, turn, parts_);
}

void HostProcesses::wait_no_longer(bool by_new_root, Instant now, Actions& out, Upward& up) {
  for (const std::uint32_t process : living()) {
    printed(process, now, out, up);
    if (by_new_root) scanned(process, {}, now, out, up);
  }
}

void HostProcesses::join(const wire::Share& share, bool is_new) {
  for (std::uint32_t i = 0; i < share.processes; ++i) {
    const std::uint32_t process = share.first_process + i;
    if (!own_.join(process)) continue;
    clients_.join(process);
    parts_.start.joined(*job_, local().rank_of(process));
    if (is_new) parts_.start.await(process);
  }
}

void HostProcesses::restart(const wire::Restart& message, Instant now, Actions& out, Upward& up) {
  if (own_.phase().ending) return;
  HostTurn turn = turn_of(now, out, up);
  OwnProcess& process = own_.at(message.process);
  const bool awaited = message.awaited || process.awaited || process.kind;
  clients_.ask_each(
      [&](ClientServer& each, ClientOutputs& outputs) {
        each.vacate(message.process, message.restarts, awaited, outputs);
      },
      turn, parts_);
  process.successor.order(message);
  if (process.is_alive())
    out.push_back(Signal{name_of(message.process), signals::kKill});
  else
    start_successor(message.process, turn);
}

void HostProcesses::recover(const wire::Recover& message, Instant now, Actions& out, Upward& up) {
  HostTurn turn = turn_of(now, out, up);
  parts_.barriers.begin_recovery(wire::epoch_of(*message.table), turn);
  clients_.ask_each([&](ClientServer& each,
                        ClientOutputs& outputs) { each.recover(message.table, message.crashed, outputs); },
                    turn, parts_);
  HostBarriers::ack_for_those(turn);
}

void HostProcesses::admit(std::uint32_t process, Instant now, Actions& out, Upward& up) {
  HostTurn turn = turn_of(now, out, up);
  clients_.ask_each([&](ClientServer& each, ClientOutputs& outputs) { each.admit(process, outputs); }, turn,
                    parts_);
}

void HostProcesses::renewed(const wire::Renewed& message, Instant now, Actions& out, Upward& up) {
  HostTurn turn = turn_of(now, out, up);
  parts_.barriers.renewed(message.epoch, turn);
  clients_.ask_each([&](ClientServer& each, ClientOutputs& outputs) { each.renewed(message, outputs); }, turn,
                    parts_);
}

/// A process that is lost for its connection alone must not live on: the others do without it.
void HostProcesses::lost(const wire::Lost& message, Instant now, Actions& out, Upward& up) {
  HostTurn turn = turn_of(now, out, up);
  for (const std::uint32_t number : local().among(message.processes)) {
    OwnProcess& process = own_.at(number);
    process.entered = {};
    if (process.is_alive()) out.push_back(Signal{name_of(number), signals::kKill});
  }
  parts_.barriers.lost(message.epoch, turn);
  clients_.ask_each(
      [&](ClientServer& each, ClientOutputs& outputs) { each.lost(message.processes, outputs); }, turn,
      parts_);
}

void HostProcesses::request(const wire::CcsForward& piece, Instant now, Actions& out, Upward& up) {
  if (!contains(piece.process)) return;
  std::string& request = own_.at(piece.process).request;
  request.append(piece.bytes);
  if (piece.last) this->request(piece.process, std::exchange(request, {}), now, out, up);
}

void HostProcesses::request(std::uint32_t process, std::string payload, Instant now, Actions& out,
                            Upward& up) {
  HostTurn turn = turn_of(now, out, up);
  clients_.request(process, std::move(payload), turn, parts_);
}

void HostProcesses::queue_pairs(const wire::QueuePairs& block, Instant now, Actions& out, Upward& up) {
  HostTurn turn = turn_of(now, out, up);
  clients_.hand_over(parts_.queue_pairs.arrived(local(), block), turn, parts_);
}

void HostProcesses::regroup(Instant now, Actions& out, Upward& up) {
  if (own_.phase().ending) return;
  own_.phase().regrouping = true;
  HostTurn turn = turn_of(now, out, up);
  for (std::uint32_t i = 0; i < local().count; ++i) {
    OwnProcess& process = own_.all()[i];
    process.unregister();
    process.output.forget_copies();
    process.end.cut_off = false;
    process.end.explain_by = kNever;
    turn.flush(local().first + i, wire::Tail::ended);
  }
  clients_.ask_each([](ClientServer& each, ClientOutputs& outputs) { each.regroup(outputs); }, turn, parts_);
}

void HostProcesses::reshape(const wire::Share& share, Instant now, Upward& up) {
  Actions none;
  HostTurn turn = turn_of(now, none, up);
  const std::uint32_t staying = own_.reshape(share, job_->processes);
  clients_.reshape(own_);
  parts_.ends.reshape(own_);
  parts_.start.reshape(staying, turn);
  parts_.registration.reshape(staying, parts_.start.host(), turn);
}

void HostProcesses::finish(int signal, Instant now, Actions& out, Upward& up) {
  own_.phase().ending = true;
  parts_.smp.heard();
  for (const std::uint32_t process : living()) {
    if (signal != 0 && !own_.at(process).can().is_let_go) out.push_back(Signal{name_of(process), signal});
  }
  HostTurn turn = turn_of(now, out, up);
  clients_.ask_each([](ClientServer& each, ClientOutputs& outputs) { each.finish(outputs); }, turn, parts_);
}

void HostProcesses::signal(int signal, Actions& out) const {
  for (const std::uint32_t process : living()) out.push_back(Signal{name_of(process), signal});
}

void HostProcesses::write_input(std::uint32_t number, const std::string& bytes, bool end, Actions& out) {
  OwnProcess& process = own_.at(number);
  if (!process.successor.is_ordered()) return out.push_back(WriteInput{name_of(number), bytes, end});
  process.successor.write(bytes, end);
}

}  // namespace charmtree::proto
