// SPDX-License-Identifier: Apache-2.0
#include "tree/proto/client_server.hpp"

#include <algorithm>

namespace charmtree::proto {

std::vector<std::uint32_t> LocalProcesses::among(const std::vector<wire::ProcessSet::Range>& ranges) const {
  std::vector<std::uint32_t> processes;
  for (std::uint32_t process = first; process - first < count; ++process) {
    const auto holds = [&](const auto& range) { return range.first <= process && process <= range.last; };
    if (std::any_of(ranges.begin(), ranges.end(), holds)) processes.push_back(process);
  }
  return processes;
}

}  // namespace charmtree::proto
