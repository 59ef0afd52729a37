// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "tests/sim/settings.hpp"
#include "tests/sim/silence_world.hpp"

namespace charmtree::silence {

void World::plan_faults() {
  constexpr Duration kFrom = 5s;  // when all have learned what is usual
  const Duration end = duration(end_);
  // Each has the time that it takes to notice it.
  const auto plan = [&](double count, What what, Duration takes) {
    const Duration last = std::max(kFrom + kStep, end - takes);
    for (std::uint32_t i = 0; i < sim::whole(count); ++i) {
      const auto host = static_cast<HostId>(1 + random_.below(hosts_.size() - 1));
      put(steps(random_.between(kFrom, last)), what, host);
    }
  };
  if (settings_.cut > 0) cut_.assign(links_.size(), 0);
  plan(settings_.die, What::die, 2 * sim::ms(settings_.within) + timing_.orphan_after);
  plan(settings_.freeze, What::freeze, 2 * sim::ms(settings_.within) + sim::ms(settings_.frozen));
  plan(settings_.cut, What::cut, 2 * sim::ms(settings_.within) + sim::ms(settings_.half_open));
}

void World::starve(HostId host) {
  if (!runs(host)) return;
  ++record_.starved;
  Host& it = hosts_[host];
  it.starved_from = calendar_.now();
  it.starved_until =
      it.starved_from + steps(sim::scaled(sim::ms(settings_.starved), sim::exponential(random_))) + 1;
  put(it.starved_until, What::wake, host);
  put(it.starved_until + steps(sim::scaled(sim::ms(settings_.starve * 1e3), sim::exponential(random_))),
      What::starve, host);
}

/// Its timer comes before what it has to read: the worst order.
void World::wake(HostId host) {
  if (runs(host) && hosts_[host].tick <= calendar_.now()) tick(host);
}

/// By whoever is nearest above.
void World::join(HostId link) {
  if (!runs(link) || links_[link].is_up) return;
  HostId parent = parents_[link];
  while (!runs(parent)) parent = parents_[parent];
  parents_[link] = parent;
  Link& it = links_[link];
  it = Link{};
  it.is_up = true;
  for (Link::Side& side : it.sides)
    side.heard = side.acknowledged = side.before = side.arrival = calendar_.now();
  hosts_[link].detector.watch(proto::kParentLink, now());
  hosts_[parent].detector.watch(link, now());
  schedule(link);
  schedule(parent);
}

void World::judge(HostId host, const health::Verdict& verdict) {
  const bool by_child = verdict.link == proto::kParentLink;
  const HostId link = by_child ? host : verdict.link;
  const End end = by_child ? kChild : kParent;
  const Host& far = hosts_[host_at(link, other(end))];
  const Link::Side& side = links_[link].sides[end];
  static constexpr std::array<const char*, kCauses> kNames{"gone", "half open", "frozen"};
  const auto cause = static_cast<std::size_t>(verdict.cause);
  const std::string what = fmt::format(
      "{} after {:.3f} s, acknowledged {:.3f} s ago, the port {}", kNames[cause], seconds(verdict.silence),
      seconds(side.acknowledged_ago(calendar_.now())), side.answers ? "answers" : "does not answer");
  if (settings_.log > 0)
    fmt::print("{:.3f} s: host {}: link {}: {}\n", seconds(duration(calendar_.now())), host, link, what);
  if (far.died != kNo && verdict.cause == health::Symptom::gone) {
    const Duration delay = took(host, far.died);
    (by_child ? record_.by_child : record_.by_parent).push_back(delay);
    // Who did not run itself begins anew.
    const Duration anew = not_run(host, far.died) > Duration{0} ? timing_.gone_after : Duration{0};
    // A parent is given more time: its own parent has replaced it long before.
    const Duration more = by_child ? timing_.orphan_after - timing_.gone_after : Duration{0};
    if (delay > sim::ms(settings_.within) + more + anew)
      offend(host, link, fmt::format("noticed {:.3f} s after its end", seconds(delay)));
  } else if (far.frozen != kNo && verdict.cause == health::Symptom::frozen) {
    record_.frozen.push_back(took(host, far.frozen));
  } else if (links_[link].is_cut && verdict.cause == health::Symptom::half_open) {
    record_.half_open.push_back(took(host, cut_[link]));
  } else if (links_[link].is_cut && verdict.cause == health::Symptom::gone) {
    ++record_.mistaken;  // one lost packet more, and it looks the same
  } else {
    ++record_.false_verdicts[cause];
    const char* truth = far.died != kNo ? "it is gone" : far.frozen != kNo ? "it is frozen" : "it lives";
    if (settings_.counts == 0) offend(host, link, fmt::format("{}; {}", what, truth));
  }
  part(link, end);
}

/// The link is closed by who judged; the other learns it, and a child gets another parent.
void World::part(HostId link, End judge) {
  const HostId far = host_at(link, other(judge));
  links_[link].is_up = false;
  if (runs(far)) {
    hosts_[far].detector.forget(name_of(link, other(judge)));
    schedule(far);
  }
  if (runs(link)) put(calendar_.now() + steps_of(settings_.repair), What::join, link);
}

/// Time in which the launcher did not run is not counted.
Duration World::took(HostId host, Step since) const {
  return duration(calendar_.now() - since) - not_run(host, since);
}

Duration World::not_run(HostId host, Step since) const {
  const Host& it = hosts_[host];
  const Step from = std::max(it.starved_from, since), until = std::min(it.starved_until, calendar_.now());
  return until > from ? duration(until - from) : Duration{0};
}

void World::check_noticed() {
  for (std::size_t link = 1; link < links_.size(); ++link) {
    const auto child = static_cast<HostId>(link);
    const HostId parent = parents_[link];
    if (!links_[link].is_up || runs(child) == runs(parent)) continue;
    const Host& bad = hosts_[runs(child) ? parent : child];
    if (runs(child) && bad.died == kNo) continue;  // frozen: waited for; its own parent ends it
    const Step since = bad.died != kNo ? bad.died : bad.frozen + steps_of(settings_.frozen);
    if (end_ > since + 2 * steps_of(settings_.within) + steps(timing_.orphan_after))
      offend(runs(child) ? child : parent, child, "nobody has noticed the other's end");
  }
}

void World::offend(HostId host, HostId link, const std::string& what) {
  ++offended_;
  if (offences_.size() < kMostOffences)
    offences_.push_back(fmt::format("seed {}: host {}, its link of host {} to {}, at {:.3f} s: {}", seed_,
                                    host, link, parents_[link], seconds(duration(calendar_.now())), what));
}

}  // namespace charmtree::silence
