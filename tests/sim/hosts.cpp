// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/hosts.hpp"

#include <algorithm>
#include <utility>

#include "tests/sim/dice.hpp"

namespace charmtree::sim {

bool Sshd::admits(Random& random) {
  if (pending >= full) return false;
  if (pending >= start) {
    const double drop =
        rate / 100.0 + (1 - rate / 100.0) * (pending - start) / std::max<double>(full - start, 1);
    if (uniform(random) < drop) return false;
  }
  ++pending;
  return true;
}

Nature Hosts::draw_nature(const Settings& settings, Random& random) const {
  const std::pair<double, Nature> shares[] = {{settings.dead, Nature::dead},
                                              {settings.refusing, Nature::refusing},
                                              {settings.silent, Nature::silent},
                                              {settings.denied, Nature::denied},
                                              {settings.broken, Nature::broken},
                                              {settings.unready, Nature::unready},
                                              {settings.unspawnable, Nature::unspawnable},
                                              {settings.root_only, Nature::root_only},
                                              {settings.flaky, Nature::flaky}};
  double dice = uniform(random);
  for (const auto& [share, nature] : shares) {
    if (dice < share) return nature;
    dice -= share;
  }
  return Nature::good;
}

Hosts::Hosts(const Settings& settings, Random& random)
    : link_(ms(settings.link)),
      give_up_(ms(settings.give_up)),
      timeout_(ms(settings.timeout)),
      hosts_(whole(settings.hosts)) {
  const auto names = std::max(whole(settings.names), 1U);
  std::uint32_t left_of_machine = 0;
  for (SimHost& host : hosts_) {
    if (left_of_machine == 0) {
      Sshd sshd;
      sshd.is_shared = settings.shared > 0 && uniform(random) * names < settings.shared;
      sshd.is_touchy = settings.touchy > 0 && uniform(random) < settings.touchy;
      if (sshd.is_touchy) {
        sshd.start = whole(settings.startups_start);
        sshd.rate = whole(settings.startups_rate);
        sshd.full = whole(settings.startups_full);
      }
      left_of_machine = sshd.is_shared ? names : 1;
      machines_.push_back(sshd);
    }
    --left_of_machine;
    host.machine = static_cast<std::uint32_t>(machines_.size() - 1);
    host.nature = draw_nature(settings, random);
    host.flakes = 1 + static_cast<std::uint32_t>(random.below(2));
    const bool straggles = settings.stragglers > 0 && uniform(random) < settings.stragglers;
    host.latency = straggles ? ms(settings.straggle) : ms(settings.latency);
    if (settings.sigma > 0) host.latency = scaled(host.latency, lognormal(random, settings.sigma));
    if (settings.slow > 0 && uniform(random) < settings.slow) host.slowness = settings.slowness;
    host.latency = scaled(host.latency, host.slowness);
    if (host.lives() && host.latency >= timeout_) host.nature = Nature::silent;  // as good as
  }
}

std::uint32_t Hosts::living() const {
  return static_cast<std::uint32_t>(
      std::count_if(hosts_.begin(), hosts_.end(), [](const SimHost& host) { return host.lives(); }));
}

std::uint32_t Hosts::reachable() const {
  return static_cast<std::uint32_t>(std::count_if(
      hosts_.begin(), hosts_.end(), [](const SimHost& host) { return host.takes_launchers(); }));
}

Hosts::Answer Hosts::answer(std::uint32_t index, bool from_root) {
  SimHost& host = hosts_[index];
  ++host.tries;
  const bool is_unplugged = std::exchange(host.is_unplugged, false);
  if (host.is_off) return {give_up_, Errc::timed_out};
  if (is_unplugged) return {2 * link_, Errc::unreachable};
  switch (host.nature) {
    case Nature::dead:
      return {give_up_, Errc::timed_out};
    case Nature::refusing:
      return {2 * link_, Errc::refused};
    case Nature::silent:
      return {std::min(host.latency, timeout_) + timeout_, Errc::timed_out};
    case Nature::denied:
      return {host.latency * 7 / 10, Errc::not_authorised};
    case Nature::broken:
      return {host.latency, Errc::no_launcher};
    case Nature::root_only:
      if (!from_root) return {host.latency * 7 / 10, Errc::not_authorised};
      break;
    case Nature::flaky:
      if (host.tries <= host.flakes) return {2 * link_, Errc::unreachable};
      break;
    case Nature::good:
    case Nature::unready:
    case Nature::unspawnable:
      break;
  }
  return {host.latency, Errc::internal};
}

Error login_error(Errc code) {
  switch (code) {
    case Errc::timed_out:
      return {code, Phase::connect, "timed out", "is the host up?"};
    case Errc::refused:
      return {code, Phase::connect, "connection refused", "is sshd running there?"};
    case Errc::unreachable:
      return {code, Phase::connect, "no route to host", "is the host up?"};
    case Errc::not_authorised:
      return {code, Phase::authenticate, "no key or method was accepted"};
    case Errc::dropped:
      return {code, Phase::handshake, "sshd closed the connection", "see MaxStartups in its sshd_config"};
    default:
      return {code, Phase::exec, "charmrun not found"};
  }
}

}  // namespace charmtree::sim
