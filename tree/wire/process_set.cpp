// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/process_set.hpp"

#include <algorithm>

namespace charmtree::wire {

void ProcessSet::add(Range range) {
  const auto from = std::partition_point(ranges_.begin(), ranges_.end(), [&](const Range& each) {
    return std::uint64_t{each.last} + 1 < range.first;
  });
  auto to = from;
  for (; to != ranges_.end() && to->first <= std::uint64_t{range.last} + 1; ++to) {
    size_ -= std::size_t{to->last} - to->first + 1;
    range = {std::min(range.first, to->first), std::max(range.last, to->last)};
  }
  size_ += std::size_t{range.last} - range.first + 1;
  ranges_.insert(ranges_.erase(from, to), range);
}

bool ProcessSet::contains(std::uint32_t process) const {
  const auto above = std::partition_point(ranges_.begin(), ranges_.end(),
                                          [process](const Range& range) { return range.last < process; });
  return above != ranges_.end() && above->first <= process;
}

std::vector<ProcessSet::Range> ProcessSet::missing(Range range) const {
  std::vector<Range> parts;
  std::uint64_t next = range.first;
  auto each = std::partition_point(ranges_.begin(), ranges_.end(),
                                   [&](const Range& known) { return known.last < range.first; });
  for (; each != ranges_.end() && each->first <= range.last; ++each) {
    if (each->first > next) parts.push_back({static_cast<std::uint32_t>(next), each->first - 1});
    next = std::uint64_t{each->last} + 1;
  }
  if (next <= range.last) parts.push_back({static_cast<std::uint32_t>(next), range.last});
  return parts;
}

std::optional<std::uint32_t> first_common(const std::vector<ProcessSet::Range>& ranges,
                                          const ProcessSet& set) {
  for (const auto& [first, last] : set.ranges()) {
    for (const auto& each : ranges) {
      if (first <= each.last && each.first <= last) return std::max(first, each.first);
    }
  }
  return {};
}

std::uint64_t size_of(const std::vector<ProcessSet::Range>& ranges) {
  std::uint64_t size = 0;
  for (const auto& [first, last] : ranges) size += std::uint64_t{last} - first + 1;
  return size;
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
