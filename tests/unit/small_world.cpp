// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/small_world.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tree/base/signals.hpp"

namespace charmtree::test {

using namespace proto;

namespace {

/// Nothing costs a launcher time, and a message is under way for 5 ms at the most, but for one in 10,000.
sim::Settings make_settings(const Plan& plan) {
  sim::Settings settings;
  settings.hosts = plan.hosts;
  settings.link = 0.5;
  settings.bandwidth = settings.receive = settings.send = settings.cipher = settings.tuple = settings.client =
      0;
  settings.setup = settings.spawn = 0;
  settings.spool = static_cast<double>(plan.spool);
  return settings;
}

RootPlan make_plan(const Plan& plan) {
  RootPlan root;
  root.time_limit = plan.time_limit;
  root.int_ends = plan.int_ends;
  wire::JobSpec& job = root.job;
  job.id = "0123456789abcdef";
  job.arguments = {"./app"};
  job.hosts = plan.hosts;
  job.launch.shape = plan.shape;
  job.launch.batch = plan.batch;
  job.launch.on_host_failure = plan.on_failure;
  job.launch.wait = plan.wait;
  job.launch.login_rate = plan.login_rate;
  job.grace = plan.grace;
  job.input.process = plan.input_process;
  job.input.to_all = plan.input_to_all;
  job.input.is_typed = plan.input_is_typed;
  job.output.spool = plan.spool;
  job.launch.login_occupancy = plan.login_occupancy;
  job.launch.login_latency = plan.login_latency;
  job.reports.stamps = plan.stamps;
  job.checkup = plan.checkup;
  job.provision = plan.provision;
  job.spawn.bind = plan.bind;
  job.reports.bindings = plan.report_bindings;
  job.spawn.fork_clients = plan.fork_clients;
  job.heartbeat = plan.heartbeat;
  job.silence = plan.silence;
  job.reports.watched = root.tells_progress = plan.watched;
  job.loss.recovery = plan.on_loss;
  job.starts_together = plan.starts_together;
  job.spawn.held = plan.held;
  job.session = plan.session;
  job.loss.keep_alive = plan.keep_alive;
  job.profiles.resize(1);
  job.profiles[0].host_keys = plan.host_keys;
  job.profiles[0].user = plan.user;
  job.profiles[0].forwarded_keys = plan.forwarded_keys;
  for (const std::string& key : plan.forwarded_keys) root.key_names[key] = "the key " + key;
  for (std::uint32_t i = 0; i < plan.hosts; ++i) {
    Host host;
    host.index = i;
    host.name = fmt::format("n{:02}", i);
    host.first_process = job.processes;
    if (!plan.session && i + plan.spares < plan.hosts)
      host.processes = plan.slots.empty() ? 1 : plan.slots[i % plan.slots.size()];
    job.processes += host.processes;
    root.hosts.push_back(std::move(host));
  }
  return root;
}

}  // namespace

SmallWorld::SmallWorld(const Plan& plan)
    : Simulation(make_settings(plan), plan.seed),
      actors(make_plan(plan).job.processes),
      random_layout_(plan.random_layout),
      can_fork_(plan.can_fork),
      plan_(make_plan(plan)) {
  begin_root(plan_, now_);
}

void SmallWorld::at(Duration when, std::function<void()> what) {
  put(std::max(when, now_), Call{[what = std::move(what)](Duration) { what(); }});
}

void SmallWorld::run(Duration limit) {
  while (step(limit)) {
  }
}

// ---- things to do from outside

std::uint32_t SmallWorld::find(std::uint32_t host) const {
  for (auto id = static_cast<std::uint32_t>(launchers_.size()); id-- > 0;) {
    if (launchers_[id].host == host && launchers_[id].node) return id;
  }
  throw NobodyThere(fmt::format("no launcher on host {}", host));
}

void SmallWorld::take_over() {
  RootPlan plan = plan_;
  plan.hosts = kept.value().hosts;
  plan.takes_over = kept->shape;
  begin_root(std::move(plan), now_);
}

void SmallWorld::kill_launcher(std::uint32_t host) {
  const std::uint32_t id = find(host);
  leave(id, now_);
  for (Actor& actor : actors) {
    if (actor.launcher == id && !actor.outlives_launcher) exits(number(actor), 0, signals::kKill, now_);
  }
}

void SmallWorld::freeze_launcher(std::uint32_t host) {
  stop(find(host));
}

void SmallWorld::unplug(std::uint32_t host) {
  const std::uint32_t id = find(host);
  stop(id);
  unplugged_.insert(id);
  for (Actor& actor : actors) {
    if (actor.launcher == id) actor.alive = actor.connected = false;
  }
  for (sim::Wire& wire : wires_) wire.is_dead = wire.is_dead || wire.parent == id || wire.child == id;
}

void SmallWorld::cut_link(std::uint32_t host) {
  const std::uint32_t wire = launchers_[find(host)].wire;
  for (const bool up : {true, false}) take(HangUp{wire, up, "connection reset"});
  wires_[wire].is_dead = true;
}

/// Whoever is stopped hears first that it is to go on.
void SmallWorld::user_signal(int signal) {
  if (!launchers_[root_].node) return;
  if (signal != signals::kContinue || !launchers_[root_].is_stopped)
    return deliver(root_, UserSignal{signal});
  go_on(root_, now_);
  turn(root_, UserSignal{signal}, now_);
}

void SmallWorld::next_run(const std::vector<std::uint32_t>& processes) {
  RunPlan plan{plan_.job, processes};
  for (const std::uint32_t each : processes) plan.job.processes += each;
  plan.job.input.process = wire::kNoProcess;
  for (Actor& actor : actors) {
    actor.spawned = false;
    ++actor.lives_before;
  }
  deliver(root_, NextRun{std::make_shared<const RunPlan>(std::move(plan))});
}

void SmallWorld::forge(std::uint32_t host, const wire::Message& message) {
  Duration now = now_;
  send(launchers_[find(host)].wire, true, message, now);
}

// ---- what happened

bool SmallWorld::said_anywhere(std::string_view text, std::optional<Tone> tone) const {
  return std::any_of(said.begin(), said.end(), [&](const Say& say) {
    return say.text.find(text) != std::string::npos && (!tone || say.tone == *tone);
  });
}

std::size_t SmallWorld::alive() const {
  return static_cast<std::size_t>(
      std::count_if(launchers_.begin(), launchers_.end(),
                    [](const Launcher& each) { return each.node != nullptr; }) +
      std::count_if(actors.begin(), actors.end(), [](const Actor& each) { return each.alive; }));
}

void SmallWorld::performs(std::uint32_t id, const Action& action, Duration) {
  dispatch(
      node::Actions{}, [&](const auto& each) { watch(id, each); }, action);
}

bool SmallWorld::sends(std::uint32_t wire, bool up, wire::Message& message, Duration& now) {
  sent.push_back({launchers_[sender(wire, up)].host, launchers_[receiver(wire, up)].host, now, message});
  return true;
}

void SmallWorld::watch(std::uint32_t id, const Finish& action) {
  if (id == root_) {
    result = action;
    result_at = now_;
  } else if (launchers_[id].host == wire::kRootIndex) {
    former.push_back(action);
  }
}

void SmallWorld::watch(std::uint32_t, const RunOver& action) {
  runs.push_back(action.result);
  if (run_over) at(now_, run_over);
}

void SmallWorld::watch(std::uint32_t id, const Signed& action) {
  const std::string& wanted = outcomes_[launchers_[id].children.at(action.link).login].wants_signed;
  if (!action.signature.empty() && action.signature != "signed " + wanted)
    wrong("a signature of something else");
}

void SmallWorld::watch(std::uint32_t, const proto::Signal& action) {
  actors.at(action.process).signals.push_back(action.signal);
  actors[action.process].signal_times.push_back(now_);
}

void SmallWorld::watch(std::uint32_t id, const StopSelf&) {
  stops += launchers_[id].node->suspended() ? 1 : 0;
}

void SmallWorld::watch(std::uint32_t, const Record& action) {
  if (action.error) failures.push_back(action);
  stamps.push_back(action.stamps);
}

void SmallWorld::watch(std::uint32_t, const Show& action) {
  (static_cast<Stream>(action.output.stream) == Stream::out ? out : err) += action.output.text;
}

// ---- hosts, and the user

void SmallWorld::login_begins(std::uint32_t number, const proto::Login& action, Duration& now) {
  const std::uint32_t host = action.host.index;
  const Try attempt{launchers_[logins_[number].launcher].host, host, ++tries_of_[host], action.via, now};
  tries.push_back(attempt);
  outcomes_.push_back(login ? login(attempt) : Outcome{});
  const Duration after = outcomes_.back().after;
  const bool is_off = std::any_of(unplugged_.begin(), unplugged_.end(),
                                  [&](std::uint32_t id) { return launchers_[id].host == host; });
  if (after != kForever && !is_off)
    put(now + (after > 0ms ? after : random_.between(20ms, 250ms)), Answer{number});
}

sim::Simulation::LoginEnd SmallWorld::login_end(std::uint32_t number) {
  const Outcome& outcome = outcomes_[number];
  return {outcome.error, outcome.key, outcome.wants_signed};
}

Prepared SmallWorld::prepared(std::uint32_t id, const Prepare& action) {
  const std::uint32_t host = action.self.index;
  const auto error = prepare ? prepare(host) : std::nullopt;
  Prepared answer{0x0A000000 + host, error.value_or(Error{}), !error.has_value()};
  if (cpus) answer.cpus = cpus(host);
  answer.random_layout = random_layout_;
  answer.can_fork = can_fork_;
  if (action.job->checkup) {
    answer.checkup.emplace();
    answer.checkup->host = host;
    answer.checkup->clock = Instant{now_ + launchers_[id].skew};
    answer.checkup->wall_ms = now_.count();
  }
  return answer;
}

input::InputRead SmallWorld::user_input_read(const input::ReadInput& action) {
  ++reads;
  input::InputRead read{user_input.substr(input_at_, action.bytes)};
  if (plan_.job.input.is_typed) read.bytes.resize(std::min(read.bytes.size(), read.bytes.find('\n') + 1));
  input_at_ += read.bytes.size();
  read.end = input_at_ == user_input.size();
  return read;
}

std::string SmallWorld::signature(const Sign& action) {
  return agent ? agent(action) : "signed " + action.data;
}

}  // namespace charmtree::test
