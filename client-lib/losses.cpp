// SPDX-License-Identifier: Apache-2.0
#include "client-lib/losses.hpp"

namespace charmtree::client {

using Range = wire::ProcessSet::Range;

bool Losses::add(const wire::native::Lost& lost, std::uint32_t total) {
  for (const Range& range : lost.processes) {
    if (range.last >= total) return false;
    for (const auto& [first, last] : lost_.missing(range)) {
      for (std::uint32_t process = first; process <= last; ++process)
        untold_.push_back(static_cast<int>(process));
    }
    lost_.add(range);
  }
  return true;
}

/// A copy: it may set another.
void Losses::tell() {
  if (!untold() || telling_) return;
  const std::vector<int> ranks = std::exchange(untold_, {});
  const LossHandler handler = handler_;
  telling_ = true;
  handler(ranks);
  telling_ = false;
}

}  // namespace charmtree::client
