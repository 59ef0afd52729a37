// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/trees.hpp"

#include <algorithm>
#include <functional>

#include "tree/overlay/postal.hpp"

namespace charmtree::sim {

Duration ideal_pool(const Hosts& hosts, Duration occupancy) {
  std::vector<Duration> free{Duration{0}};  // a heap, the earliest on top
  Duration last{0};
  for (std::uint32_t host = 0; host < hosts.size(); ++host) {
    if (!hosts[host].takes_launchers()) continue;
    std::pop_heap(free.begin(), free.end(), std::greater{});
    const Duration ready = free.back() + hosts[host].latency;
    free.back() += occupancy;
    std::push_heap(free.begin(), free.end(), std::greater{});
    free.push_back(ready);
    std::push_heap(free.begin(), free.end(), std::greater{});
    last = std::max(last, ready);
  }
  return last;
}

namespace {

class StaticTree {
public:
  StaticTree(const Hosts& hosts, std::uint32_t branching, const Settings& settings)
      : hosts_(hosts),
        branching_(branching),
        occupancy_(ms(settings.occupancy)),
        latency_(ms(settings.latency)),
        give_up_(ms(settings.give_up)) {
    if (branching_ == 0) fill_curve();
  }

  /// When all of [first, end) are up that a launcher starts which is ready at `now`.
  Duration run(std::uint32_t first, std::uint32_t end, Duration now) const {
    Duration last = now;
    for (const auto& [from, to] : shares(first, end)) {
      now += occupancy_;
      last = std::max(last, start(from, to, now));
    }
    return last;
  }

  std::vector<std::pair<std::uint32_t, std::uint32_t>> shares(std::uint32_t first, std::uint32_t end) const {
    return branching_ == 0 ? postal_shares(first, end) : equal_shares(first, end);
  }

private:
  /// The first living host of a share, which is tried after the dead ones before it, gets the rest.
  Duration start(std::uint32_t from, std::uint32_t to, Duration busy_until) const {
    Duration begun = busy_until - occupancy_;
    while (from < to && !hosts_[from].takes_launchers()) {
      begun += give_up_;
      ++from;
    }
    if (from == to) return Duration{0};
    const Duration ready = begun + hosts_[from].latency;
    return std::max(ready, run(from + 1, to, ready));
  }

  std::vector<std::pair<std::uint32_t, std::uint32_t>> equal_shares(std::uint32_t first,
                                                                    std::uint32_t end) const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> shares;
    for (std::uint32_t parts = std::min(branching_, end - first); parts > 0; --parts) {
      const std::uint32_t size = (end - first + parts - 1) / parts;
      shares.emplace_back(first, first + size);
      first += size;
    }
    return shares;
  }

  /// alive_[t]: launchers at the tick t, at most.
  void fill_curve() {
    const auto late = static_cast<std::size_t>(latency_ / tick());
    while (alive_.empty() || alive_.back() <= hosts_.size()) {
      const std::size_t at = alive_.size();
      alive_.push_back(at < late ? 1 : alive_[at - kTicks] + alive_[at - late]);
    }
  }

  /// A child that is begun i * occupancy after its parent was ready can start what the curve says until all
  /// are to be up.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> postal_shares(std::uint32_t first,
                                                                     std::uint32_t end) const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> shares;
    const auto budget = static_cast<std::int64_t>(
        std::upper_bound(alive_.begin(), alive_.end(), end - first) - alive_.begin());
    const auto late = static_cast<std::int64_t>(latency_ / tick());
    for (std::int64_t begun = 0; first < end; begun += kTicks) {
      const std::int64_t left = std::max<std::int64_t>(budget - late - begun, 0);
      const std::uint64_t most = std::max<std::uint64_t>(alive_[static_cast<std::size_t>(left)], 1);
      const auto size = static_cast<std::uint32_t>(std::min<std::uint64_t>(most, end - first));
      shares.emplace_back(first, first + size);
      first += size;
    }
    return shares;
  }

  Duration tick() const { return occupancy_ / kTicks; }

  static constexpr std::int64_t kTicks = 24;  // per login
  const Hosts& hosts_;
  std::uint32_t branching_;
  Duration occupancy_, latency_, give_up_;
  std::vector<std::uint64_t> alive_;
};

}  // namespace

Duration static_tree(const Hosts& hosts, std::uint32_t branching, const Settings& settings) {
  return StaticTree{hosts, branching, settings}.run(0, hosts.size(), Duration{0});
}

void kill_inner_host(Hosts& hosts, const Settings& settings, Random& random) {
  if (settings.inner < 0) return;
  auto shares = StaticTree{hosts, whole(settings.inner), settings}.shares(0, hosts.size());
  std::erase_if(shares, [](const auto& share) { return share.second - share.first < 2; });
  if (!shares.empty()) hosts[shares[random.below(shares.size())].first].nature = Nature::dead;
}

}  // namespace charmtree::sim
