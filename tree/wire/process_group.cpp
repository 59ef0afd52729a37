// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/process_group.hpp"

#include <utility>

namespace charmtree::wire {

void ProcessGroup::add(std::uint32_t more, const std::vector<ProcessSet::Range>& which) {
  processes_ += more;
  which_.add_all(which);
  if (which_.ranges().size() <= kMostGroupRanges) return;
  ProcessSet lowest;
  for (std::size_t i = 0; i < kMostGroupRanges; ++i) lowest.add(which_.ranges()[i]);
  which_ = std::move(lowest);
}

bool is_group(std::uint32_t processes, const std::vector<ProcessSet::Range>& which) {
  std::uint64_t least = 0;
  for (const auto& [first, last] : which) {
    if (first < least || last < first) return false;
    least = std::uint64_t{last} + 2;
  }
  return processes > 0 && !which.empty() && which.size() <= kMostGroupRanges && size_of(which) <= processes;
}

}  // namespace charmtree::wire
