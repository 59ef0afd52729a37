// SPDX-License-Identifier: Apache-2.0
// What the simulation asks of a world when a launcher acts, and what is to be seen of that.
#include <fmt/format.h>

#include <algorithm>

#include "tests/sim/world.hpp"

namespace charmtree::sim {

using namespace proto;

namespace {

/// Who adopts a launcher is its parent, or not far above that one.
constexpr std::uint32_t kMostHops = 3;

}  // namespace

void World::acts(std::uint32_t id, const Actions& actions) {
  if (id != root_) return;
  is_screen_last_ = std::any_of(actions.begin(), actions.end(),
                                [](const Action& action) { return holds_alternative<Finish>(action); });
}

void World::performs(std::uint32_t id, const Action& action, Duration now) {
  dispatch(
      node::Actions{}, [&](const auto& each) { watch(id, each, now); }, action);
}

void World::watch(std::uint32_t id, const Say& action, Duration) {
  if (id != root_) return checks_.wrong("a launcher that has no user speaks to one");
  checks_.said(action);
}

void World::watch(std::uint32_t, const Record& action, Duration) {
  if (action.error && !lies(Sabotage::silence)) checks_.reported(action.stamps.host, *action.error);
}

void World::watch(std::uint32_t, const Prepare& action, Duration) {
  begin_run(action.job->loss.restarts);
}

void World::watch(std::uint32_t id, const ReplaceParent&, Duration) {
  const std::uint32_t parent = wires_[launchers_[id].adopter].parent;
  const std::uint32_t level = launchers_[id].level, above = launchers_[parent].level;
  if (nobody_else_is_lost() && level - above > kMostHops)
    checks_.wrong(
        fmt::format("host {} at level {} is adopted from level {}", launchers_[id].host, level, above));
  seen(id).is_orphan = seen(parent).is_orphan;
}

void World::watch(std::uint32_t id, const AdoptProcess&, Duration) {
  checks_.wrong(fmt::format("host {} adopts a process: none of this world forks", launchers_[id].host));
}

/// Nobody is watched here (tests/unit/node/node_silence_test.cpp does that).
void World::watch(std::uint32_t id, const LookAtClient&, Duration) {
  checks_.wrong(fmt::format("host {} looks at a process without being told to", launchers_[id].host));
}

void World::watch(std::uint32_t, const KeepTree& action, Duration) {
  kept_ = action;
}

/// A process is told of once, and by nobody but its own launcher, or those between that and the root.
void World::watch(std::uint32_t, const stacks::StacksSeen& action, Duration) {
  if (!is_sound(action.stacks)) checks_.wrong("stacks that make no sense");
  wire::ProcessSet all;
  std::uint64_t told = 0;
  for (const stacks::StackGroup& group : action.stacks.groups) {
    told += group.processes;
    for (const auto& range : group.which) {
      if (!all.missing(range).empty() && all.missing(range).front() == range)
        all.add(range);
      else
        checks_.wrong(fmt::format("process {} does two things", range.first));
    }
  }
  if (told > job_processes()) checks_.wrong("more processes do something than there are");
  outcome_.groups = std::max(outcome_.groups, action.stacks.groups.size());
}

/// A prompt hears sound answers, until the command that it has given is done, or the run is over.
void World::watch(std::uint32_t, const debug::DebugHeard& action, Duration) {
  for (const debug::DebugAnswer& answer : action.up.said.answers) {
    if (!is_sound(answer) || answer.processes > job_processes())
      checks_.wrong("debuggers give answers that make no sense");
  }
  if (action.over || action.up.done == kPromptCommand) open_prompts_.erase(action.ticket);
}

void World::watch(std::uint32_t, const debug::RunTool& action, Duration) {
  const debug::ToolOrder& order = action.order;
  if (order.what != debug::ToolOrder::What::begin) return;
  tools_[{order.session, order.which.front().first}] = order.which;
}

/// What a tool says is what it has read; a tool that has ended is one that was started.
void World::watch(std::uint32_t, const debug::ToolHeard& action, Duration) {
  using What = debug::ToolSaid::What;
  const auto told = told_of_.find(action.ticket);
  if (action.over) told_of_.erase(action.ticket);
  if (action.over || told == told_of_.end()) return;
  if (action.said.what == What::output && action.said.bytes != "hello")
    checks_.wrong("a tool says what it does not say");
  auto which = action.said.which;
  if (action.said.what == What::ended) {
    const auto tool = tools_.find({action.said.session, which.front().first});
    if (tool == tools_.end()) return checks_.wrong("a tool has ended that was not started");
    which = tool->second;
  }
  if (action.said.what != What::ended && action.said.what != What::failed) return;
  told->second.add_all(which);
}

/// Each id is that of the process or of one that had its number before, and when all are known, none of them
/// has begun that is held; its successor, if it was lost, has.
void World::watch(std::uint32_t, const ProcessesKnown& action, Duration) {
  for (const wire::ProcessIds& told : action.ids) {
    for (std::uint32_t i = 0; i < told.ids.size(); ++i) {
      known_ids_[told.first + i] = told.ids[i];
      if (told.ids[i] / SimProcess::kLives != told.first + i + 1)
        checks_.wrong(fmt::format("process {} has an id that is not its own", told.first + i));
    }
  }
  if (!action.all) return;
  for (std::uint32_t number = 0; number < action.job->processes; ++number) {
    if (!known_ids_.contains(number))
      checks_.wrong(fmt::format("nobody has told the id of process {}", number));
    const Process& process = processes_[number];
    if (action.job->spawn.held && process.alive && !process.held && process.lives_before == 0)
      checks_.wrong(fmt::format("process {} has begun before the debugger lets it", number));
  }
}

void World::watch(std::uint32_t id, const Finish& action, Duration now) {
  if (id != root_) return;
  outcome_.status = action.status + (lies(Sabotage::mistake) ? 1 : 0);
  if (outlives_losses() && !lost_at_its_end_) settle_losses(action.why.lost);
  outcome_.finished = now;
}

bool World::sends(std::uint32_t wire, bool up, wire::Message& message, Duration& now) {
  const std::uint32_t id = sender(wire, up);
  if (holds_alternative<stacks::StacksUp>(message) && receiver(wire, up) == root_)
    outcome_.stacks = std::max(outcome_.stacks, estimate(message));
  if (const auto* lost = get_if<wire::LinkLost>(&message)) checks_.link_lost(*lost);
  if (auto* facts = get_if<wire::Facts>(&message); facts != nullptr && lies(Sabotage::slander))
    facts->hosts_up = {0};
  if (holds_alternative<wire::Output>(message) && seen(id).said_idle)
    checks_.wrong(fmt::format("host {} sends output though it has said Idle", launchers_[id].host));
  if (holds_alternative<wire::Idle>(message)) seen(id).said_idle = true;
  if (id == root_) root_sends(wire, message, now);
  return !lies(Sabotage::standstill) || !holds_alternative<wire::Assign>(message);
}

void World::root_sends(std::uint32_t wire, const wire::Message& message, Duration& now) {
  may_be_last(message, now);
  if (const auto* table = get_if<wire::TableDown>(&message); table != nullptr && outcome_.table == 0) {
    outcome_.gathered = now;  // and it is coded here, once
    if (settings_.in_place != 0) root_knows(*table->table);
    outcome_.table = table->table->size();
    cost(root_, now, scaled(Duration{1}, settings_.tuple * static_cast<double>(processes_.size())));
  }
  if (const auto* recover = get_if<wire::Recover>(&message)) root_recovers(*recover);
  if (const auto* renewed = get_if<wire::Renewed>(&message)) root_renews(*renewed);
  const auto* release = get_if<wire::Release>(&message);
  const LinkId link = wires_[wire].link;
  if (release != nullptr && link <= std::exchange(released_by_, link)) root_releases(*release);  // links rise
}

void World::receives(std::uint32_t id, const wire::Message& message) {
  seen(id).was_told = true;
  if (const auto* welcome = get_if<wire::Welcome>(&message)) {
    const std::uint32_t host = launchers_[id].host;
    if (settings_.reruns != 0) begin_run(wire::decode_job(*welcome->job)->loss.restarts);
    retire_idle(host);
    ++welcomed_;
    checks_.welcomed(host, welcome->self);
    if (lies(Sabotage::usurpers)) checks_.welcomed(host, welcome->self);
  }
  if (const auto* recover = get_if<wire::Recover>(&message)) seen(id).epoch = wire::epoch_of(*recover->table);
  if (holds_alternative<wire::Relaunch>(message)) seen(id).said_idle = false;
}

void World::broke_protocol(std::uint32_t wire, bool up) {
  checks_.wrong(fmt::format("host {} sent what it may not", launchers_[sender(wire, up)].host));
}

bool World::has_power(std::uint32_t id) const {
  const Launcher& launcher = launchers_[id];
  return launcher.host != wire::kRootIndex ? !hosts_[launcher.host].is_off : launcher.node != nullptr;
}

Prepared World::prepared(std::uint32_t id, const Prepare& action) {
  const std::uint32_t host = launchers_[id].host;
  Prepared answer{0x0A000000 + host, {}, true};
  if (settings_.by_cores != 0) {
    CpuMap& cpus = answer.cpus.emplace();
    for (std::uint32_t core = 0; core < processes_of(settings_, host); ++core) cpus.cores.push_back({core});
  }
  if (hosts_[host].nature == Nature::unready) {
    answer.ok = false;
    answer.error = {Errc::no_directory, Phase::spawn, "no such directory", "check +wd"};
  } else if (hosts_[host].nature == Nature::unspawnable && action.job->waits_for_all()) {
    answer.ok = false;
    answer.error = kMissingProgram;
  }
  if (answer.ok) checks_.ready(host);
  return answer;
}

}  // namespace charmtree::sim
