// SPDX-License-Identifier: Apache-2.0
#include "tree/job/process_names.hpp"

#include <algorithm>

namespace charmtree::proto {

void ProcessNames::renumber(std::uint32_t first, std::vector<std::uint32_t> staying, std::uint32_t count) {
  first_ = first;
  names_ = std::move(staying);
  while (names_.size() < count) names_.push_back(next_++);
}

std::optional<std::uint32_t> ProcessNames::process_of(std::uint32_t name) const {
  if (names_.empty()) return name;
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) return {};
  return first_ + static_cast<std::uint32_t>(found - names_.begin());
}

}  // namespace charmtree::proto
