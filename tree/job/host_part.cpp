// SPDX-License-Identifier: Apache-2.0
#include "tree/job/host_part.hpp"

#include <algorithm>

#include "tree/job/run_progress.hpp"
#include "tree/overlay/launch.hpp"

namespace charmtree::proto {

namespace {
/// A login that is due so soon goes before starting processes; between two turns that start some, others
/// have one.
constexpr Duration kLoginsFirst = 1ms, kSpawnPause = 20us;

/// What is told upwards by what is done here.
template <class F>
void tell_up(Turn& turn, F&& act) {
  Upward upward;
  act(upward);
  turn.tell_up(std::move(upward));
}
}  // namespace

void HostPart::begin(bool may_start, Turn& turn) {
  processes_.emplace(place_.job, place_.self);
  if (may_start) return processes_->prepare(place_.job->starts_together, turn.out());
  Prepared not_ready;  // what the shell hears of the old ones is for nobody
  not_ready.ok = false;
  not_ready.error = {Errc::internal, Phase::run, "what the last run left there cannot be killed", {}};
  tell_up(turn, [&](Upward& upward) { processes_->on(not_ready, turn.now(), turn.out(), upward); });
}

void HostPart::spawn(Turn& turn) {
  if (!processes_ || !processes_->waits_to_spawn()) {
    spawn_at_ = kNever;
    return;
  }
  const Instant login_at = turn.seat().launch.next_deadline();
  const bool login_is_due = login_at <= turn.now() + kLoginsFirst;
  if (!login_is_due) processes_->spawn(turn.out());
  spawn_at_ = login_is_due ? login_at : turn.now() + kSpawnPause;
}

void HostPart::tick(Turn& turn) {
  if (!processes_ || processes_->next_deadline() > turn.now()) return;
  tell_up(turn, [&](Upward& upward) { processes_->tick(turn.now(), turn.out(), upward); });
}

Instant HostPart::next_deadline() const {
  return processes_ ? earlier(spawn_at_, processes_->next_deadline()) : spawn_at_;
}

void HostPart::finish(const wire::End& end, Turn& turn) {
  if (!processes_) return;
  tell_up(turn, [&](Upward& upward) {
    processes_->finish(end.mode == wire::EndMode::stop ? end.signal : 0, turn.now(), turn.out(), upward);
  });
}

void HostPart::signal(int signal, Turn& turn) const {
  if (processes_) processes_->signal(signal, turn.out());
}

void HostPart::hold_output(bool held, Turn& turn) {
  if (processes_) processes_->hold_output(held, turn.out());
}

void HostPart::note_start(bool was_spawned, Turn& turn) {
  const Seat seat = turn.seat();
  const bool waits = seat.job.starts_together && !seat.progress.has_numbers;  // for the word to start them
  if (!was_spawned && !waits) times_.reached(wire::Stamps::spawned, processes_->spawned_at());
  times_.reached(wire::Stamps::registered, processes_->registered_at());
}

void HostPart::down(const wire::TableDown& table, Turn& turn) {
  tell_up(turn, [&](Upward& upward) { processes_->table(table.table, turn.now(), turn.out(), upward); });
  times_.reached(wire::Stamps::table, turn.now());
  times_.tell(turn);
}

void HostPart::down(const wire::Numbers& numbers, Turn& turn) {
  const auto shares = wire::decode_shares(*numbers.shares);
  const Seat seat = turn.seat();
  if (!shares || seat.is_ending) return;
  if (shares->empty() && place_.job->starts_together && !seat.progress.has_numbers) {
    begin_start(turn);
    return processes_->go();
  }
  if (shares->empty() || place_.self.processes > 0) return;
  place_.job->processes = shares->back().first_process + shares->back().processes;
  place_.job->pes_per_process = numbers.pes_per_process;
  std::vector<wire::HostRun>& layout = place_.job->spawn.mpi.layout;
  layout.clear();
  for (const wire::Share& share : *shares) wire::append(layout, share.host, share.processes);
  number(*shares, turn);
  for (const wire::Share& share : *shares) {
    if (share.host != place_.self.index) continue;
    place_.self.first_process = share.first_process;
    place_.self.processes = share.processes;
  }
  start(turn);
}

/// A host without any hears where the others are: it may get some yet.
void HostPart::start(Turn& turn) {
  if (processes_->failed()) return;
  const HostProcesses prepared = std::move(*processes_);
  processes_.emplace(place_.job, place_.self);
  tell_up(turn, [&](Upward& upward) { processes_->start(prepared, turn.out(), upward); });
}

void HostPart::begin_start(Turn& turn) {
  const Seat seat = turn.seat();
  seat.progress.has_numbers = true;
  seat.launch.subtree().await_start();
}

void HostPart::number(const std::vector<wire::Share>& shares, Turn& turn) {
  const Seat seat = turn.seat();
  seat.progress.has_numbers = true;
  for (const wire::Share& share : shares) seat.launch.subtree().give(share);
}

void HostPart::down(const wire::Reshape& order, Turn& turn) {
  const auto shares = wire::decode_shares(*order.shares);
  if (!shares || shares->empty() || turn.seat().is_ending) return;
  place_.job->processes = shares->back().first_process + shares->back().processes;
  place_.job->arguments = order.arguments;
  reshape(order, *shares, turn);
  wire::Share own{place_.self.index, 0, 0};
  for (const wire::Share& share : *shares) {
    if (share.host == place_.self.index) own = share;
  }
  place_.self.first_process = own.first_process;
  place_.self.processes = own.processes;
  tell_up(turn, [&](Upward& upward) { processes_->reshape(own, turn.now(), upward); });
}

void HostPart::reshape(const wire::Reshape& order, const std::vector<wire::Share>& shares, Turn& turn) {
  turn.seat().launch.forget_processes();
  number(shares, turn);
  turn.hand_down_all(order);
}

void HostPart::down(const wire::Moved& moved, Turn& turn) {
  Subtree& subtree = turn.seat().launch.subtree();
  for (const wire::Share& share : moved.shares) {
    subtree.moved(share);
    if (processes_ && share.host == place_.self.index) processes_->join(share, false);
  }
}

void HostPart::down(const wire::WorldBegun& begun, Turn& turn) {
  wire::JobSpec& job = *place_.job;
  const auto is_here = [this](const wire::Share& share) { return share.host == place_.self.index; };
  const bool keeps_texts =
      turn.seat().is_root() || std::any_of(begun.shares.begin(), begun.shares.end(), is_here);
  for (const wire::FurtherProgram& each : begun.programs)
    job.spawn.further.push_back(
        keeps_texts ? each : wire::FurtherProgram{each.first, {}, {}, each.begins_world, {}});
  for (const wire::Share& share : begun.shares) {
    job.processes += share.processes;
    turn.seat().launch.subtree().moved(share);
    if (processes_ && share.host == place_.self.index) processes_->join(share, true);
  }
  act(&HostProcesses::tell_servers<&ClientServer::begun, wire::WorldBegun>, begun, turn);
}

void HostPart::down(const wire::Release& release, Turn& turn) {
  tell_up(turn, [&](Upward& upward) {
    processes_->release(static_cast<BarrierKind>(release.kind % kBarrierKinds), turn.now(), turn.out(),
                        upward);
  });
}

/// Of answers on their way down nobody knows whether they have come.
void HostPart::down(const wire::Resend& order, Turn& turn) {
  tell_up(turn, [&](Upward& upward) {
    processes_->wait_no_longer(order.by_new_root, turn.now(), turn.out(), upward);
  });
}

void HostPart::down(const wire::Regroup&, Turn& turn) {
  if (!processes_) return;
  tell_up(turn, [&](Upward& upward) { processes_->regroup(turn.now(), turn.out(), upward); });
}

void HostPart::here(const wire::Receipt& message, Turn& turn) {
  tell_up(turn,
          [&](Upward& upward) { processes_->printed(message.process, turn.now(), turn.out(), upward); });
}

void HostPart::here(const wire::ScanReply& message, Turn& turn) {
  tell_up(turn, [&](Upward& upward) {
    processes_->scanned(message.process, message.input, turn.now(), turn.out(), upward);
  });
}

void HostPart::here(const wire::CcsForward& message, Turn& turn) {
  tell_up(turn, [&](Upward& upward) { processes_->request(message, turn.now(), turn.out(), upward); });
}

void HostPart::here(const wire::Admit& message, Turn& turn) {
  tell_up(turn, [&](Upward& upward) { processes_->admit(message.process, turn.now(), turn.out(), upward); });
}

void HostPart::route(const wire::QueuePairs& block, Turn& turn) {
  if (contains(block.first_target)) {
    tell_up(turn, [&](Upward& upward) { processes_->queue_pairs(block, turn.now(), turn.out(), upward); });
  } else if (turn.way_to(block.first_target)) {
    turn.hand_down(block.first_target, wire::QueuePairsDown{block});
  } else if (!turn.seat().is_root() && turn.way_up() == WayUp::open) {
    turn.hand_up(wire::QueuePairsUp{block});
  }
}

}  // namespace charmtree::proto
