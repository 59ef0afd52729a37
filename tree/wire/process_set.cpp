// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/process_set.hpp"

#include <algorithm>

namespace charmtree::wire {

void ProcessSet::add(std::uint32_t process) {
  const auto above = std::partition_point(ranges_.begin(), ranges_.end(),
                                          [process](const Range& range) { return range.last < process; });
  if (above != ranges_.end() && above->first <= process) return;
  ++size_;
  const bool joins_above = above != ranges_.end() && above->first == process + 1;
  const bool joins_below = above != ranges_.begin() && std::prev(above)->last + 1 == process;
  if (joins_below && joins_above) {
    std::prev(above)->last = above->last;
    ranges_.erase(above);
  } else if (joins_below) {
    std::prev(above)->last = process;
  } else if (joins_above) {
    above->first = process;
  } else {
    ranges_.insert(above, {process, process});
  }
}

void fold(std::vector<ProcessSet::Range>& ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (std::uint64_t{ranges[kept].last} + 1 == ranges[i].first)
      ranges[kept].last = ranges[i].last;
    else
      ranges[++kept] = ranges[i];
  }
  if (!ranges.empty()) ranges.resize(kept + 1);
}

std::string ProcessSet::print() const {
  std::string text;
  for (const auto& [first, last] : ranges_) {
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (last > first) text.append("-").append(std::to_string(last));
  }
  return text;
}

}  // namespace charmtree::wire
