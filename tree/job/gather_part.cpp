// SPDX-License-Identifier: Apache-2.0
#include "tree/job/gather_part.hpp"

#include <algorithm>
#include <utility>

#include "tree/job/host_processes.hpp"
#include "tree/job/judge.hpp"
#include "tree/overlay/launch.hpp"

namespace charmtree::proto {

void GatherPart::add(wire::Facts facts, Turn& turn) {
  if (facts.empty()) return;
  const Seat seat = turn.seat();
  Subtree& subtree = seat.launch.subtree();
  for (const std::uint32_t host : facts.hosts_up) subtree.answered(host);
  for (const wire::HostFailure& failure : facts.hosts_failed) subtree.failed(failure.host);
  for (const wire::TupleBlock& block : facts.blocks) subtree.registered(block.host);
  for (const wire::StartedBy& told : facts.started_by) subtree.started(told);
  progress_.any_registered = progress_.any_registered || facts.registered > 0;
  if (seat.job.repairs()) replay_.sift(facts);
  if (seat.is_root())
    turn.hand_up(std::move(facts));
  else if (turn.way_up() != WayUp::gone)
    gather_.add(std::move(facts), turn.now());
}

/// A launcher says of its children that it has started them when they say that they are up.
void GatherPart::up(Child& child, wire::Facts facts, Turn& turn) {
  const Seat seat = turn.seat();
  child.registered += facts.registered;
  if (facts.epoch == progress_.epoch) child.crash_acks += facts.crash_acks;
  child.finished += facts.ended + facts.exited_ok + static_cast<std::uint32_t>(facts.exits.size());
  const std::uint32_t host = child.host.index;
  if (seat.job.names_who_started() &&
      std::find(facts.hosts_up.begin(), facts.hosts_up.end(), host) != facts.hosts_up.end())
    facts.started_by.push_back({host, seat.self.index});
  add(std::move(facts), turn);
}

void GatherPart::add(const wire::LinkLost& lost, Turn& turn) {
  hurry(turn);
  progress_.below_lost_launchers.add_all(lost.processes);
}

void GatherPart::remember(const wire::Message& message, Turn& turn) {
  if (turn.seat().job.repairs()) replay_.note(message);
}

void GatherPart::turn(Turn& turn) {
  const Seat seat = turn.seat();
  if (seat.is_root() || seat.processes == nullptr || turn.way_up() != WayUp::open) return;
  const HostProcesses& here = *seat.processes;
  const Subtree& subtree = seat.launch.subtree();
  const bool answered = (here.spawned_at() != kNever || here.failed()) && subtree.all_answered();
  auto facts = gather_.due({here.local().size() + subtree.processes() - progress_.gone,
                            here.all_registered() && subtree.all_registered(),
                            answered && seat.job.loss.restarts == 0,  // a second time it goes with the tuples
                            progress_.survivors, seat.is_ending},
                           turn.now());
  if (!facts) return;
  if (!facts->blocks.empty()) times_.reached(wire::Stamps::gathered, turn.now());
  turn.hand_up(std::move(*facts));
}

void GatherPart::hurry(Turn& turn) {
  if (turn.seat().is_root()) return;
  gather_.hurry(turn.now());
  this->turn(turn);
}

/// Tuples that are held until all are there would come behind what is said last.
void GatherPart::rest(Turn& turn) {
  gather_.forget_tuples();
  hurry(turn);
}

void GatherPart::adopted(Turn& turn) {
  gather_.forget_ends();
  gather_.add(replay_.facts(), turn.now());
  hurry(turn);
  for (const wire::Message& message : replay_.messages()) turn.hand_up(message);
}

void GatherPart::take_over(const InheritedState& inherited, Turn& turn) {
  const Seat seat = turn.seat();
  progress_.epoch = inherited.epoch;
  progress_.releases = inherited.releases;
  progress_.has_table = inherited.has_table;
  for (const Host& host : *seat.hosts) {
    if (inherited.has_table) seat.launch.subtree().registered(host.index);
  }
  count_out(inherited.lost.ranges(), turn);
}

void GatherPart::down(const wire::Release& release) {
  progress_.count(release);
  gather_.released(static_cast<BarrierKind>(release.kind % kBarrierKinds));
}

void GatherPart::begin_epoch(std::uint32_t epoch, Turn& turn) {
  progress_.epoch = epoch;
  gather_.begin_epoch(epoch);
  Launch& launch = turn.seat().launch;
  for (const auto& [link, child] : launch.children())
    launch.find(link)->crash_acks = launch.find(link)->queue_pairs = 0;
}

void GatherPart::down(const wire::Recover& message, Turn& turn) {
  begin_epoch(wire::epoch_of(*message.table), turn);
  const Seat seat = turn.seat();
  if (seat.is_root()) return;
  progress_.survivors = seat.self.processes + seat.launch.subtree().processes();
  for (const std::uint32_t process : message.joining) {
    if (turn.is_here(process) || turn.way_to(process)) --progress_.survivors;
  }
}

void GatherPart::down(const wire::Lost& message, Turn& turn) {
  begin_epoch(message.epoch, turn);
  count_out(message.processes, turn);
}

void GatherPart::down(const wire::Renewed& message, Turn& turn) {
  begin_epoch(message.epoch, turn);
}

std::vector<wire::ProcessSet::Range> GatherPart::fresh(
    const std::vector<wire::ProcessSet::Range>& lost) const {
  std::vector<wire::ProcessSet::Range> all;
  for (const wire::ProcessSet::Range& range : lost) {
    for (const wire::ProcessSet::Range& each : progress_.lost.missing(range)) all.push_back(each);
  }
  return all;
}

/// Nobody here or below waits for them any more.
void GatherPart::count_out(const std::vector<wire::ProcessSet::Range>& told, Turn& turn) {
  const Seat seat = turn.seat();
  std::vector<wire::ProcessSet::Range> processes;
  for (const wire::ProcessSet::Range& range : told) {
    for (const wire::ProcessSet::Range& each : progress_.lost.missing(range)) processes.push_back(each);
    progress_.lost.add(range);
  }
  replay_.forget_lost(progress_.lost);
  if (seat.processes != nullptr)
    progress_.gone += static_cast<std::uint32_t>(seat.processes->local().count_among(processes));
  for (const auto& [link, ranges] : seat.launch.subtree().split(processes))
    progress_.gone += static_cast<std::uint32_t>(wire::size_of(ranges));
}

}  // namespace charmtree::proto
