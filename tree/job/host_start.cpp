// SPDX-License-Identifier: Apache-2.0
#include "tree/job/host_start.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tree/clients/pmi/pmi_variables.hpp"
#include "tree/clients/pmix/pmix_variables.hpp"
#include "tree/job/process_variables.hpp"

namespace charmtree::proto {

void HostStart::on(const Prepared& event, HostTurn& turn) {
  const OwnProcesses& own = turn.own;
  if (own.phase().ending) return;
  if (event.checkup) turn.up.messages.emplace_back(*event.checkup);
  if (event.blind) turn.up.facts.blind.push_back(turn.host);
  if (!event.ok) {
    return fail(event.error, turn);
  }
  if (!turn.job.checkup) {
    begin({event.address, event.cpus, event.random_layout, event.can_fork}, turn);
    const bool answers_later = !is_held_ || helper_ != Helper::none;
    if (own.local().count > 0 && answers_later) return;
  }
  if (host_.cpus && turn.job.provision.by_topology())
    turn.up.facts.topologies.push_back({turn.host, 1, host_.cpus->topology()});
  all_are_up(turn);
}

void HostStart::begin(ReadyHost host, HostTurn& turn) {
  host_ = std::move(host);
  ready_ = true;
  turn.own.phase().forking = forks(turn);
  const std::uint32_t count = turn.own.local().count;
  const wire::MpiService& mpi = turn.job.spawn.mpi;
  if (mpi.pmix != wire::MpiService::Pmix::none && !starts_on_demand(mpi)) helper_ = Helper::wanted;
  if (count > 0) start_helper(turn);
  if (!host_.cpus || count == 0) return;
  for (std::uint32_t rank = 0; rank < count; ++rank)
    bindings_.push_back(binding_of(turn.job, *host_.cpus, rank));
  if (turn.job.reports.bindings) turn.up.messages.push_back(wire::Bindings{turn.host, bindings_});
  if (turn.job.spawn.bind != CpuUnit::none && !host_.cpus->bindable) {
    turn.up.messages.push_back(
        wire::Note{turn.host, "hwloc describes another machine (HWLOC_...): nothing is bound"});
  }
}

void HostStart::go() {
  is_held_ = false;
  spawned_at_ = kNever;
}

void HostStart::fail(const Error& error, HostTurn& turn) {
  failed_ = true;
  turn.up.facts.hosts_failed.push_back({turn.host, error});
}

void HostStart::start_helper(HostTurn& turn) {
  if (helper_ != Helper::wanted) return;
  helper_ = Helper::started;
  turn.out.push_back(StartPmix{});
}

void HostStart::serves(ServerReady& output, HostTurn& turn) {
  helper_ = output.variables.empty() ? Helper::none : Helper::started;
  variables_.merge(std::move(output.variables));
  if (turn.own.phase().ending) return;
  if (output.failure) return fail(*output.failure, turn);
  if (is_held_ && spawned_at_ == kNever) all_are_up(turn);
}

/// Forked processes would all be bound where the first one is.
bool HostStart::forks(const HostTurn& turn) const {
  const wire::JobSpec& job = turn.job;
  const bool wanted = job.spawn.fork_clients == wire::ForkClients::always ||
                      (job.spawn.fork_clients == wire::ForkClients::where_random && host_.random_layout);
  return wanted && host_.can_fork && turn.own.local().count > 1 && job.spawn.bind == CpuUnit::none &&
         !job.resizes;
}

bool HostStart::waits_to_spawn(const OwnProcesses& own) const {
  if (!ready_ || is_held_ || failed_ || own.phase().ending) return false;
  if (spawned_ < to_spawn(own)) return !waits_for_helper(own.local().first + spawned_);
  return !further_.empty() && (helper_ == Helper::wanted || !waits_for_helper(further_.front()));
}

void HostStart::spawn(HostTurn& turn) {
  for (std::uint32_t i = 0; i < kSpawnsAtOnce && waits_to_spawn(turn.own); ++i) {
    if (helper_ == Helper::wanted) {
      start_helper(turn);
    } else if (spawned_ < to_spawn(turn.own)) {
      start(turn.own.local().first + spawned_++, {}, turn);
      const bool are_several = spawned_ == to_spawn(turn.own) && spawned_ > 1;
      if (are_several && turn.job.spawn.mpi.asks_topology()) turn.out.push_back(DescribeTopology{});
    } else {
      start(further_.front(), {}, turn);
      further_.pop_front();
    }
  }
}

namespace {

ProcessPlace place_of(std::uint32_t process, const HostTurn& turn) {
  const wire::World world = wire::world_of(turn.job.spawn.further, turn.job.processes, process);
  const LocalProcesses& local = turn.own.local();
  const std::size_t behind = local.count_among({{process, world.range().last}});  // with the process itself
  const std::size_t all = local.count_among({world.range()});
  return {world, process, static_cast<std::uint32_t>(all - behind), static_cast<std::uint32_t>(all)};
}

}  // namespace

void HostStart::start(std::uint32_t number, std::vector<std::string> more_arguments, HostTurn& turn) {
  turn.own.starts(number);
  Spawn spawn{turn.own.name_of(number), std::move(more_arguments), {}, turn.own.at(number).restarts};
  spawn.held = turn.job.spawn.held && spawn.restarts == 0 && turn.own.local().is_first(number) &&
               !turn.own.phase().forking;
  const std::uint32_t rank = turn.own.local().rank_of(number);
  if (!bindings_.empty() && bindings_[rank].by == wire::Binding::By::launcher)
    spawn.cpus = bindings_[rank].pus;
  const ProcessPlace place = place_of(number, turn);
  spawn.environment = place_variables(turn.job.spawn.env_like, place, turn.host);
  if (const auto pmi = turn.job.spawn.mpi.pmi; pmi != wire::MpiService::Pmi::none)
    overlay(spawn.environment, pmi_variables(pmi, place));
  if (starts_on_demand(turn.job.spawn.mpi))
    overlay(spawn.environment, offered_pmix_variables(turn.job, place.world, number, turn.host));
  if (const auto its = variables_.find(number); its != variables_.end())
    overlay(spawn.environment, its->second);
  turn.out.push_back(std::move(spawn));
}

/// The tuple that stays is that of a host's first table, of which there may be others.
void HostStart::start_successor(std::uint32_t number, HostTurn& turn) {
  OwnProcess& process = turn.own.at(number);
  const auto [order, input] = process.successor.take();
  OwnProcess next;
  next.restarts = order.restarts;
  next.awaited = order.awaited || process.awaited || process.kind.has_value();
  next.tuple = std::move(process.tuple);
  process = std::move(next);
  std::vector<std::string> arguments;
  if (is_by_program(turn.job.loss.recovery))
    arguments = {"+restartaftercrash", fmt::format("{}", order.phase), "+restartisomalloc"};
  start(number, std::move(arguments), turn);
  if (!input.empty() || order.input_ended)
    turn.out.push_back(WriteInput{turn.own.name_of(number), input, order.input_ended});
}

void HostStart::on(const Spawned& event, HostTurn& turn) {
  OwnProcess& process = turn.own.at(event.process);
  if (process.state == OwnProcess::State::starting) process.state = OwnProcess::State::running;
  process.output.begin();
  has_id(event.process, event.id, turn);
  if (process.restarts > 0 || !turn.own.local().is_first(event.process)) return;
  if (++started_ < to_spawn(turn.own) || failed_ || spawned_at_ != kNever) return;
  all_are_up(turn);
}

void HostStart::has_id(std::uint32_t number, std::uint32_t id, HostTurn& turn) {
  turn.own.at(number).id = id;
  if (spawned_at_ != kNever || !turn.own.local().is_first(number)) tell_ids(number, 1, turn);
}

void HostStart::tell_ids(std::uint32_t first, std::uint32_t count, HostTurn& turn) {
  wire::ProcessIds told{turn.host, first, {}};
  for (std::uint32_t i = 0; i < count; ++i) told.ids.push_back(turn.own.at(first + i).id);
  const bool any = std::any_of(told.ids.begin(), told.ids.end(), [](std::uint32_t id) { return id != 0; });
  if (any) turn.up.facts.process_ids.push_back(std::move(told));
}

void HostStart::all_are_up(HostTurn& turn) {
  spawned_at_ = turn.now;
  tell_ids(turn.own.local().first, turn.own.local().count, turn);
  turn.up.facts.hosts_up.push_back(turn.host);
}

void HostStart::adopt(const Registered& output, ClientKind kind, HostTurn& turn) {
  turn.own.starts(output.process);
  turn.out.push_back(AdoptProcess{output.process, turn.own.local().first, kind, output.client});
}

/// What is not found is still seen to end by its connection, and killed as a leftover.
void HostStart::on(const ProcessAdopted& event, HostTurn& turn) {
  OwnProcess& process = turn.own.at(event.process);
  if (process.state != OwnProcess::State::starting) return;
  if (event.found) {
    process.state = OwnProcess::State::running;
    return has_id(event.process, event.id, turn);
  }
  turn.own.is_gone(event.process);
  turn.up.messages.push_back(
      wire::Note{turn.host, fmt::format("the pid of forked process {} does not show", event.process)});
}

/// That of one that is started again is told by HostEnds.
void HostStart::on(const SpawnFailed& event, HostTurn& turn) {
  turn.own.is_gone(event.process);
  if (turn.own.at(event.process).restarts > 0) return;
  ++started_;
  const bool is_first = turn.own.local().is_first(event.process);
  if (!failed_ && !turn.own.phase().ending) {
    if (is_first && spawned_at_ == kNever)
      turn.up.facts.hosts_failed.push_back({turn.host, event.error});
    else  // one that could not be forked, or of another world: the host has answered already
      turn.up.facts.exits.push_back(
          {.process = event.process, .refused = true, .text = to_string(event.error)});
  }
  failed_ = true;
}

void HostStart::joined(const wire::JobSpec& job, std::uint32_t rank) {
  if (host_.cpus) bindings_.push_back(binding_of(job, *host_.cpus, rank));
}

void HostStart::reshape(std::uint32_t staying, HostTurn& turn) {
  const std::uint32_t count = turn.own.local().count;
  bindings_.clear();
  for (std::uint32_t rank = 0; host_.cpus && rank < count; ++rank)
    bindings_.push_back(binding_of(turn.job, *host_.cpus, rank));
  spawned_ = started_ = staying;
  spawned_at_ = kNever;
  if (staying < count) return;
  if (count > 0) return all_are_up(turn);
  spawned_at_ = turn.now;
}

}  // namespace charmtree::proto
