// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

namespace charmtree::sim {

using namespace proto;

namespace {

double uniform(Random& random) {  // in (0, 1)
  return (static_cast<double>(random.next() >> 11) + 0.5) * 0x1p-53;
}

Duration times(Duration duration, double factor) {
  return Duration{static_cast<Duration::rep>(static_cast<double>(duration.count()) * factor)};
}

RootPlan make_plan(const Config& config) {
  RootPlan plan;
  wire::JobSpec& job = plan.job;
  job.id = "0123456789abcdef";
  job.arguments = {"./app"};
  job.hosts = config.hosts;
  job.processes = config.hosts * config.processes_per_host;
  job.launch.shape = config.shape;
  job.launch.batch = config.batch;
  job.profiles.resize(1);
  plan.hosts.resize(config.hosts);
  for (std::uint32_t i = 0; i < config.hosts; ++i) {
    Host& host = plan.hosts[i];
    host.index = i;
    host.name = fmt::format("n{:06}", i);
    host.first_process = i * config.processes_per_host;
    host.processes = config.processes_per_host;
  }
  return plan;
}

}  // namespace

World::World(const Config& config)
    : config_(config),
      random_(config.seed),
      dead_(config.hosts),
      refusing_(config.hosts),
      started_(config.hosts),
      latencies_(config.hosts) {
  for (std::uint32_t host = 0; host < config.hosts; ++host) {
    dead_[host] = config.dead > 0 && uniform(random_) < config.dead;
    refusing_[host] = !dead_[host] && config.refusing > 0 && uniform(random_) < config.refusing;
  }
  for (const std::uint32_t host : config.dead_hosts) dead_[host] = true;
  for (std::uint32_t host = 0; host < config.hosts; ++host) living_ += dead_[host] || refusing_[host] ? 0 : 1;
  outcome_.dead = config.hosts - living_;
  draw_latencies();
  outcome_.ideal = ideal();
  launchers_.push_back(
      {std::make_unique<Node>(make_plan(config), random_.next()), wire::kRootIndex, kNobody, 0, kParentLink});
  put(0ms, 0, Begin{});
}

Outcome World::run() {
  while (!queue_.empty() && !done_) {
    std::pop_heap(queue_.begin(), queue_.end());
    Happening next = std::move(queue_.back());
    queue_.pop_back();
    deliver(std::move(next));
  }
  outcome_.launchers = static_cast<std::uint32_t>(launchers_.size() - 1);
  if (outcome_.launchers != living_)
    outcome_.wrong.push_back(
        fmt::format("{} of {} living hosts have a launcher", outcome_.launchers, living_));
  for (const auto& launcher : launchers_) {
    outcome_.deepest = std::max(outcome_.deepest, launcher.level);
    outcome_.widest = std::max(outcome_.widest, static_cast<std::uint32_t>(launcher.children.size()));
  }
  return outcome_;
}

void World::put(Duration at, std::uint32_t to, Event event) {
  queue_.push_back({at, sequence_++, to, std::make_unique<Event>(std::move(event))});
  std::push_heap(queue_.begin(), queue_.end());
}

/// A launcher that is busy takes the event when it is free; those that wait keep their order.
void World::deliver(Happening happening) {
  Launcher& launcher = launchers_[happening.to];
  if (launcher.free_at > happening.at) {
    happening.at = launcher.free_at;
    queue_.push_back(std::move(happening));
    std::push_heap(queue_.begin(), queue_.end());
    return;
  }
  ++outcome_.events;
  Duration now = happening.at;
  note(static_cast<std::uint64_t>(now.count()) * 31 + happening.to);
  if (std::holds_alternative<Tick>(*happening.event)) launcher.armed = kNever;
  if (std::holds_alternative<LinkMessage>(*happening.event)) now += config_.receive;
  if (std::holds_alternative<LinkUp>(*happening.event)) outcome_.hosts_up = now;
  Actions actions;
  launcher.node->on(*happening.event, Instant{now}, actions);
  for (const Action& action : actions) perform(happening.to, action, now);
  launcher.free_at = now;
  // A launch is over when all who live are up; a job that has failed ends before.
  done_ = done_ || (launchers_.size() == living_ + 1 && processes_ == living_ * config_.processes_per_host);
  arm(happening.to, now);
}

/// `now` is moved on by what the action costs.
void World::perform(std::uint32_t id, const Action& action, Duration& now) {
  if (const auto* start = std::get_if<Login>(&action)) {
    login(id, now, *start);
    now += config_.postal.occupancy;
  } else if (const auto* message = std::get_if<Send>(&action)) {
    send(id, now, *message);
  } else if (std::holds_alternative<Prepare>(action)) {
    put(now + config_.spawn, id, Prepared{0x0A000000 + launchers_[id].host, {}});
  } else if (const auto* spawn = std::get_if<Spawn>(&action)) {
    now += config_.spawn;
    ++processes_;
    outcome_.processes_up = std::max(outcome_.processes_up, now);
    put(now, id, Spawned{spawn->process});
  } else if (const auto* say = std::get_if<Say>(&action)) {
    if (say->tone == Tone::error && outcome_.dead == 0) outcome_.wrong.push_back(say->text);
  } else if (const auto* cancel = std::get_if<CancelLogin>(&action)) {
    launchers_[id].children.erase(cancel->link);
  } else if (std::holds_alternative<Finish>(action) && id == 0) {
    done_ = true;
  }
}

void World::arm(std::uint32_t id, Duration now) {
  Launcher& launcher = launchers_[id];
  const Instant deadline = launcher.node->next_deadline();
  if (deadline == kNever || launcher.armed <= deadline) return;
  launcher.armed = deadline;
  put(std::max(deadline.time_since_epoch(), now), id, Tick{});
}

void World::send(std::uint32_t id, Duration at, const Send& action) {
  const bool up = action.link == kParentLink;
  const std::uint32_t to = up ? launchers_[id].parent : launchers_[id].children.at(action.link);
  Launcher& child = launchers_[up ? id : to];
  Duration& last = up ? child.last_up : child.last_down;
  last = std::max(last + Duration{1}, at + times(config_.link, 1 - std::log(uniform(random_))));
  put(last, to, LinkMessage{up ? child.link : kParentLink, action.message});
}

/// The lognormal distribution has its median at postal.latency.
void World::draw_latencies() {
  for (Duration& latency : latencies_) {
    latency = config_.postal.latency;
    if (config_.sigma == 0) continue;
    const double normal =
        std::sqrt(-2 * std::log(uniform(random_))) * std::cos(2 * std::numbers::pi * uniform(random_));
    latency = times(latency, std::exp(config_.sigma * normal));
  }
}

/// A pool that everybody can take from at no cost: whoever is free first starts the next living host.
Duration World::ideal() const {
  std::vector<Duration> free{Duration{0}};  // a heap, the earliest on top
  Duration last{0};
  for (std::uint32_t host = 0; host < config_.hosts; ++host) {
    if (dead_[host] || refusing_[host]) continue;
    std::pop_heap(free.begin(), free.end(), std::greater{});
    const Duration ready = free.back() + latencies_[host];
    free.back() += config_.postal.occupancy;
    std::push_heap(free.begin(), free.end(), std::greater{});
    free.push_back(ready);
    std::push_heap(free.begin(), free.end(), std::greater{});
    last = std::max(last, ready);
  }
  return last;
}

void World::login(std::uint32_t id, Duration at, const Login& action) {
  Launcher& launcher = launchers_[id];
  const std::uint32_t host = action.host.index;
  if (started_[host]) outcome_.wrong.push_back(fmt::format("host {} started twice", host));
  launcher.children[action.link] = kNobody;
  if (dead_[host]) {
    put(at + config_.give_up, id,
        LoginFailed{action.link, {Errc::timed_out, Phase::connect, "no answer"}, {}});
    return;
  }
  if (refusing_[host]) {
    put(at + config_.link * 2, id, LoginFailed{action.link, {Errc::refused, Phase::connect, "refused"}, {}});
    return;
  }
  started_[host] = true;
  const auto child = static_cast<std::uint32_t>(launchers_.size());
  launchers_.push_back({std::make_unique<Node>(random_.next()), host, id, launcher.level + 1, action.link});
  launcher.children[action.link] = child;
  put(at + latencies_[host], id, LinkUp{action.link, {}, {}, {}});
}

}  // namespace charmtree::sim
