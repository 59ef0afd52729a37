// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/sim/silence_world.hpp"

namespace charmtree::silence {

namespace {

/// Of silences that are noted; in usual ones a beat is less.
constexpr Duration kNoted = 500ms;

}  // namespace

void World::send(HostId link, End to, What what) {
  Link& it = links_[link];
  if (!it.is_up || it.is_cut) return;
  ++record_.messages;
  const Network::Fate fate = network_.send(it.sides[to], calendar_.now());
  if (what == What::beat && !fate.is_plain) what = What::heard;
  put(fate.arrives, what, of(link, to));
  if (what != What::beat) put(fate.acknowledged, What::acknowledged, of(link, other(to)));
}

/// At the machine, whose kernel does what it has to whether the launcher runs or not.
void World::arrive(HostId link, End to, What what) {
  Link& it = links_[link];
  const HostId host = host_at(link, to), sender = host_at(link, other(to));
  if (!it.is_up || it.is_cut || hosts_[host].died != kNo) return;
  // The network is empty soon after a host has died, and nobody sends again what was lost.
  if (hosts_[sender].died != kNo && calendar_.now() > hosts_[sender].died + steps(1ms)) return;
  const Step last = it.sides[to].heard;
  it.sides[to].heard = calendar_.now();
  if (what == What::beat) it.sides[other(to)].acknowledge(calendar_.now() + network_.acknowledges_after());
  if (hosts_[host].frozen != kNo) return;
  if (duration(calendar_.now() - last) >= kNoted) note_silence(link, to, last);
  if (!is_starved(host)) return read(link, to, what);
  put(hosts_[host].starved_until, what == What::beat || what == What::heard ? What::read : what,
      of(link, to));
}

/// By the launcher.
void World::read(HostId link, End to, What what) {
  const HostId host = host_at(link, to);
  if (!links_[link].is_up || !runs(host)) return;
  health::Detector& detector = hosts_[host].detector;
  detector.heard(name_of(link, to), now());
  if (what == What::ask) {
    const bool punctual = detector.was_punctual(name_of(link, to), now());
    if (!punctual) ++record_.refused;
    send(link, kChild, punctual ? What::yes : What::no);
    detector.sent(name_of(link, to), now());
  } else if (what == What::yes || what == What::no) {
    health::Detector::Orders orders;
    detector.parent_says(what == What::yes, now(), orders);
    obey(host, orders);
    schedule(host);
  }
}

void World::acknowledged(HostId link, End end) {
  Link& it = links_[link];
  const HostId far = host_at(link, other(end));
  if (it.is_up && !it.is_cut && hosts_[far].died == kNo) it.sides[end].acknowledge(calendar_.now());
}

void World::probe(HostId link, End end, Duration limit) {
  Link::Side& side = links_[link].sides[end];
  side.answer = settings_.walled > 0 ? kNo : network_.connect(calendar_.now());
  side.limit = calendar_.now() + steps(limit);
  side.is_probing = true;
  side.answers = false;
  if (side.answer < side.limit) put(side.answer, What::probed, of(link, end));
  put(side.limit, What::probed, of(link, end));
  const Step at = side.heard + steps_of(settings_.gone);
  if (at < calendar_.now()) return;
  put(at, What::reached, of(link, end));
  if (!is_undisturbed(link, end)) return;
  ++record_.suspected;
  if (duration(at - calendar_.now()) + side.acknowledged_ago(calendar_.now()) >= timing_.last_word())
    ++record_.quiet;
}

/// The host at the other end lives, and the one at this end has run for a while.
bool World::is_undisturbed(HostId link, End end) const {
  const Host& near = hosts_[host_at(link, end)];
  return links_[link].is_up && !links_[link].is_cut && runs(host_at(link, other(end))) &&
         calendar_.now() >= near.starved_until + steps_of(settings_.gone);
}

void World::probed(HostId link, End end) {
  Link::Side& side = links_[link].sides[end];
  const HostId host = host_at(link, end);
  const Host& far = hosts_[host_at(link, other(end))];
  if (!links_[link].is_up || !side.is_probing || !runs(host)) return;
  side.answers = side.answers || (side.answer <= std::min({calendar_.now(), side.limit, far.died}));
  if (!side.answers && calendar_.now() < side.limit) return;
  if (is_starved(host)) return put(hosts_[host].starved_until, What::probed, of(link, end));
  side.is_probing = false;
  if (far.died == kNo) {
    ++record_.probes;
    if (!side.answers) ++record_.unanswered;
  }
  const Duration silent = duration(calendar_.now() - side.heard);
  const bool is_blind = settings_.blind > 0;
  const health::Evidence evidence{silent, is_blind ? silent : side.acknowledged_ago(calendar_.now()),
                                  !is_blind && side.answers};
  health::Detector::Orders orders;
  hosts_[host].detector.probed(name_of(link, end), evidence, now(), orders);
  obey(host, orders);
  schedule(host);
}

void World::reached(HostId link, End end) {
  const Link::Side& side = links_[link].sides[end];
  if (side.answers || side.heard + steps_of(settings_.gone) != calendar_.now()) return;  // it has not
  if (is_undisturbed(link, end)) record_.at_verdict.add(side.acknowledged_ago(calendar_.now()));
}

/// Something came after a while.
void World::note_silence(HostId link, End to, Step last) {
  const HostId host = host_at(link, to);
  const Host& far = hosts_[host_at(link, other(to))];
  const Duration silence = duration(calendar_.now() - last);
  if (far.starved_until > last && far.starved_from < calendar_.now()) {
    record_.late.add(silence);
  } else {
    std::size_t losses = 0;
    while (losses + 1 < Record::kMostLosses && silence >= duration(network_.late_by(losses + 1))) ++losses;
    ++record_.losses[losses];
  }
  if (is_starved(host)) return;
  if (const auto outlook = hosts_[host].detector.outlook(name_of(link, to), now()))
    record_.margins[static_cast<std::size_t>(outlook->cause)].add(outlook->left);
}

}  // namespace charmtree::silence
