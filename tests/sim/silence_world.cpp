// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/silence_world.hpp"

#include <algorithm>

#include "tests/sim/launch_tree.hpp"
#include "tests/sim/settings.hpp"

namespace charmtree::silence {

World::World(const Settings& settings, std::uint64_t seed)
    : settings_(settings),
      timing_(timing_of(settings)),
      seed_(seed),
      end_(steps_of(settings.time * 1e3)),
      random_(seed),
      network_(settings, random_),
      parents_(sim::parents(sim::whole(settings.hosts), sim::whole(settings.branching))),
      links_(parents_.size()) {
  hosts_.reserve(parents_.size());
  const auto count = static_cast<HostId>(parents_.size());
  for (HostId host = 0; host < count; ++host) {
    hosts_.push_back({health::Detector{timing_, host > 0}});
    // Turns are spread over some beats, so that there is no common step.
    const auto begins = static_cast<Step>(random_.below(4 * steps(timing_.beat)));
    if (host > 0) put(begins, What::join, host);
    if (settings.starve > 0)
      put(steps(sim::scaled(sim::ms(settings.starve * 1e3), sim::exponential(random_))), What::starve, host);
  }
  plan_faults();
}

void World::run() {
  calendar_.run(
      end_, [this](Calendar::Event event) { prefetch(event); },
      [this](Calendar::Event event) { handle(event); });
  check_noticed();
}

void World::prefetch(Calendar::Event event) const {
  const auto what = static_cast<What>(event & ((1U << kWhatBits) - 1));
  const std::uint32_t id = event >> kWhatBits;
  if (what == What::tick) {
    __builtin_prefetch(&hosts_[id]);
  } else if (what <= What::reached) {
    __builtin_prefetch(&links_[id >> 1]);
    __builtin_prefetch(&hosts_[host_at(id >> 1, static_cast<End>(id & 1))]);
  }
}

void World::handle(Calendar::Event event) {
  const auto what = static_cast<What>(event & ((1U << kWhatBits) - 1));
  const std::uint32_t id = event >> kWhatBits;
  const HostId link = id >> 1;
  const auto end = static_cast<End>(id & 1);
  switch (what) {
    case What::tick:
      if (hosts_[id].tick == calendar_.now() && runs(id) && !is_starved(id)) tick(id);
      return;
    case What::beat:
    case What::heard:
    case What::ask:
    case What::yes:
    case What::no:
      return arrive(link, end, what);
    case What::acknowledged:
      return acknowledged(link, end);
    case What::read:
      return read(link, end, what);
    case What::probed:
      return probed(link, end);
    case What::reached:
      return reached(link, end);
    default:
      return handle_rare(what, id);
  }
}

void World::handle_rare(What what, std::uint32_t id) {
  switch (what) {
    case What::starve:
      return starve(id);
    case What::wake:
      return wake(id);
    case What::die:
      if (runs(id)) hosts_[id].died = calendar_.now();
      return;
    case What::freeze:
      if (runs(id)) hosts_[id].frozen = calendar_.now();
      return;
    case What::cut:
      if (!links_[id].is_up || !runs(id) || !runs(parents_[id])) return;
      links_[id].is_cut = true;
      cut_[id] = calendar_.now();
      return;
    case What::join:
      return join(id);
    default:
      return;
  }
}

void World::tick(HostId host) {
  health::Detector::Orders orders;
  hosts_[host].detector.tick(now(), orders);
  obey(host, orders);
  schedule(host);
}

/// A launcher's timer is set to its detector's deadline.
void World::schedule(HostId host) {
  const Instant deadline = hosts_[host].detector.next_deadline();
  const Step step = deadline == kNever ? kNo : std::max(steps(deadline.time_since_epoch()), calendar_.now());
  if (hosts_[host].tick == step) return;
  hosts_[host].tick = step;
  if (step != kNo) put(step, What::tick, host);
}

void World::obey(HostId host, const health::Detector::Orders& orders) {
  const auto end_of = [host](health::LinkId name) {
    return name == proto::kParentLink ? std::pair{host, kChild} : std::pair{HostId{name}, kParent};
  };
  for (const health::LinkId name : orders.beats) {
    const auto [link, end] = end_of(name);
    send(link, other(end), What::beat);
  }
  for (const auto& [name, limit] : orders.probes) {
    const auto [link, end] = end_of(name);
    probe(link, end, limit);
  }
  if (orders.ask_parent && host > 0 && links_[host].is_up) {
    ++record_.asked;
    send(host, kParent, What::ask);
    hosts_[host].detector.sent(proto::kParentLink, now());
  }
  for (const health::Verdict& verdict : orders.verdicts) judge(host, verdict);
}

}  // namespace charmtree::silence
