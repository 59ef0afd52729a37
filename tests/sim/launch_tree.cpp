// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/launch_tree.hpp"

#include <functional>
#include <queue>
#include <utility>

#include "tree/overlay/postal.hpp"

namespace charmtree::sim {

std::vector<std::uint32_t> parents(std::uint32_t hosts, std::uint32_t branching) {
  std::vector<std::uint32_t> parents{0};
  parents.reserve(hosts);
  if (branching > 0) {
    while (parents.size() < hosts)
      parents.push_back(static_cast<std::uint32_t>((parents.size() - 1) / branching));
    return parents;
  }
  const proto::Postal postal;
  using Turn = std::pair<Duration, std::uint32_t>;  // when a launcher can begin to start another
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns;
  turns.emplace(Duration{0}, 0U);
  while (parents.size() < hosts) {
    const auto [at, launcher] = turns.top();
    turns.pop();
    turns.emplace(at + postal.occupancy, launcher);
    turns.emplace(at + postal.latency, static_cast<std::uint32_t>(parents.size()));
    parents.push_back(launcher);
  }
  return parents;
}

}  // namespace charmtree::sim
