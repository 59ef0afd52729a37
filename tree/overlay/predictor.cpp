// SPDX-License-Identifier: Apache-2.0
// The k-ary tree is followed level by level: parts of one level differ by one host at most, so it is enough
// to know two sizes of each.
#include "tree/overlay/predictor.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace charmtree::proto {

namespace {

Duration times(double count, Duration each) {
  return std::chrono::round<Duration>(count * std::chrono::duration<double, std::nano>{each});
}

/// How a launcher with `hosts` below it shares them out: `large` parts of `size` hosts, then `small` of one
/// less.
struct Parts {
  std::uint64_t size = 0, large = 0, small = 0;
};

Parts share_out(std::uint64_t hosts, std::uint64_t children) {
  if (hosts == 0) return {};
  const std::uint64_t size = (hosts + children - 1) / children;
  const std::uint64_t small = size * children - hosts;
  return {size, children - small, small};
}

/// Its children, at `level` of the tree.
std::uint64_t children_of(std::uint64_t hosts, const wire::Shape& shape, std::uint64_t level) {
  const bool last = shape.levels != 0 && level + 1 >= shape.levels;
  return last ? hosts : std::min<std::uint64_t>(hosts, shape.branching);
}

/// With a window W: N(t) = N(t - max(latency, W occupancy)) + the sum of N(t - latency - i occupancy) over i
/// < W, as each burst of logins starts so many subtrees; without end of the window, the postal recurrence.
/// `sums` has those of one launcher's logins so far.
Duration time_in_bursts(const Postal& postal, std::uint64_t hosts, std::uint32_t window) {
  const Duration tick = tick_of(postal);
  const auto busy = static_cast<std::size_t>(std::max<std::int64_t>(postal.occupancy / tick, 1));
  const auto late = std::max(static_cast<std::size_t>(postal.latency / tick), busy);
  const std::size_t burst = window * busy, round = std::max(late, burst);
  std::vector<std::uint64_t> alive, sums;
  for (std::size_t t = 0; alive.empty() || alive.back() <= hosts; ++t) {
    const std::uint64_t begun = t < late ? 0 : sums[t - late];
    const std::uint64_t earlier_bursts = t < late + burst ? 0 : sums[t - late - burst];
    alive.push_back((t < round ? 1 : alive[t - round]) + begun - earlier_bursts);
    sums.push_back(alive.back() + (t < busy ? 0 : sums[t - busy]));
  }
  return static_cast<std::int64_t>(alive.size() - 1) * tick;
}

}  // namespace

Duration basic_startup(const PaperTimes& t, double processes) {
  return t.once() + times(processes, t.ssh_login + t.receive);
}

Duration smp_aware_startup(const PaperTimes& t, double hosts, double per_host) {
  return t.once() + times(hosts, t.ssh_login) + times(hosts * per_host, t.receive);
}

Duration multi_level_startup(const PaperTimes& t, double levels, double branching, double per_host) {
  return times(levels, t.once() + times(branching, t.ssh_login + t.receive)) +
         times(branching * (per_host - 1), t.receive);
}

double paper_levels(double hosts, double branching) {
  if (branching <= 1 || hosts <= branching) return 1;
  return std::log(hosts) / std::log(branching);
}

Duration batched_startup(const PaperTimes& t, double levels, double branching, double batch,
                         double per_host) {
  return times(levels - 1, t.once() + times(branching, t.ssh_login + t.receive)) +
         times(branching / batch, t.once()) + times(branching, t.ssh_login) +
         times(branching * per_host, t.receive);
}

/// Its first child is a launcher after the latency, and so on; its last one when all is over.
TreeForecast late_tree(const Postal& postal, std::uint64_t hosts, std::uint32_t window) {
  if (hosts == 0) return {};
  const Duration occupancy = std::max(postal.occupancy, Duration{1});
  const Duration latency = std::max(postal.latency, occupancy);
  TreeForecast tree;
  tree.time = window == 0 ? PostalCurve{postal}.bound(hosts) : time_in_bursts(postal, hosts, window);
  tree.levels = static_cast<std::uint32_t>(std::max<std::int64_t>(tree.time / latency, 1));
  const Duration busy = std::max(tree.time - latency, Duration{0});
  std::int64_t begun = busy / occupancy + 1;
  if (window != 0) {
    const Duration round = std::max(latency, window * occupancy);
    begun = busy / round * window + std::min<std::int64_t>(busy % round / occupancy + 1, window);
  }
  tree.root_degree = std::min(static_cast<std::uint64_t>(begun), hosts);
  return tree;
}

TreeForecast static_tree(const Postal& postal, const wire::Shape& shape, std::uint64_t hosts,
                         std::uint32_t window) {
  const std::uint64_t burst = window != 0 ? window : std::max<std::uint64_t>(hosts, 1);
  const Duration round = std::max(postal.latency, static_cast<std::int64_t>(burst) * postal.occupancy);
  std::vector<std::uint64_t> below{hosts};  // the larger number of hosts under a launcher, by level
  while (below.back() > 0) {
    const std::uint64_t level = below.size() - 1;
    below.push_back(share_out(below.back(), children_of(below.back(), shape, level)).size - 1);
  }
  Duration large{0}, small{0};  // of a launcher with below[level] hosts, and with one less
  for (std::size_t level = below.size() - 1; level-- > 0;) {
    const auto end_of = [&](std::uint64_t under) {
      if (under == 0) return Duration{0};
      const Parts parts = share_out(under, children_of(under, shape, level));
      const auto ready = [&](std::uint64_t child, std::uint64_t size) {
        return static_cast<std::int64_t>(child / burst) * round +
               static_cast<std::int64_t>(child % burst) * postal.occupancy + postal.latency +
               (size - 1 == below[level + 1] ? large : small);
      };
      Duration end = ready(parts.large - 1, parts.size);
      if (parts.small > 0) end = std::max(end, ready(parts.large + parts.small - 1, parts.size - 1));
      return end;
    };
    const Duration of_large = end_of(below[level]), of_small = end_of(below[level] - 1);
    large = of_large;
    small = of_small;
  }
  return {large, static_cast<std::uint32_t>(below.size() - 1), children_of(hosts, shape, 0)};
}

StartupForecast forecast(const StartupPlan& plan) {
  const StartupCosts& costs = plan.costs;
  const bool late = plan.shape.branching == 0;
  const auto tree = [&](const Postal& postal) {
    return late ? late_tree(postal, plan.hosts, plan.window)
                : static_tree(postal, plan.shape, plan.hosts, plan.window);
  };
  StartupForecast forecast;
  const Postal& login = costs.login;
  forecast.tree = tree(login);
  forecast.logins = forecast.tree.time;
  if (plan.hosts == 0) return forecast;
  if (plan.login_rate != 0) {
    const Duration paced =
        times(static_cast<double>(plan.hosts - 1) / static_cast<double>(plan.login_rate), 1s);
    forecast.logins = std::max(forecast.logins, paced + login.latency);
  }
  forecast.processes =
      times(std::ceil(static_cast<double>(plan.processes) / static_cast<double>(plan.hosts)), costs.spawn);
  const double bytes = costs.table_bytes_per_process * static_cast<double>(plan.processes);
  const Duration through = times(bytes / costs.link_bytes_per_ms, 1ms);
  const Postal both_ways{login.occupancy + costs.receive, login.latency + costs.hop + costs.receive};
  forecast.gather = std::max(tree(both_ways).time - forecast.tree.time, Duration{0}) + through;

  const Duration hand_out = costs.receive + through;
  if (late) {
    // Whoever was started later has fewer children, by as many: on no way down are there more than at the
    // root.
    forecast.table =
        times(static_cast<double>(forecast.tree.root_degree), hand_out) + forecast.tree.levels * costs.hop;
  } else {
    forecast.table = static_tree({hand_out, hand_out + costs.hop}, plan.shape, plan.hosts).time;
  }
  return forecast;
}

PaperTimes paper_times(const StartupCosts& costs) {
  return {.client = costs.login.latency + costs.spawn,
          .send = costs.receive,
          .network = costs.hop,
          .ssh_login = costs.login.occupancy,
          .receive = costs.receive};
}

}  // namespace charmtree::proto
