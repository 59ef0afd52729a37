// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/client_server.hpp"

#include <algorithm>

namespace charmtree::proto {

std::vector<std::uint32_t> LocalProcesses::among(const std::vector<wire::ProcessSet::Range>& ranges) const {
  std::vector<std::uint32_t> processes;
  for (std::uint32_t rank = 0; rank < size(); ++rank) {
    const std::uint32_t process = at(rank);
    const auto holds = [&](const auto& range) { return range.first <= process && process <= range.last; };
    if (std::any_of(ranges.begin(), ranges.end(), holds)) processes.push_back(process);
  }
  if (!joined.empty()) std::sort(processes.begin(), processes.end());
  return processes;
}

bool LocalProcesses::contains(std::uint32_t process) const {
  return is_first(process) || std::find(joined.begin(), joined.end(), process) != joined.end();
}

std::uint32_t LocalProcesses::rank_of(std::uint32_t process) const {
  if (is_first(process)) return process - first;
  const auto found = std::find(joined.begin(), joined.end(), process);
  return count + static_cast<std::uint32_t>(found - joined.begin());
}

}  // namespace charmtree::proto
