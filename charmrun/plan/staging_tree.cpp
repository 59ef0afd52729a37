// SPDX-License-Identifier: Apache-2.0
#include "charmrun/plan/staging_tree.hpp"

#include <algorithm>
#include <limits>

namespace charmtree {

std::uint64_t total_size(const wire::StagedFiles& staged) {
  std::uint64_t bytes = 0;
  for (const wire::StagedFile& file : staged.files) bytes += file.size;
  return bytes;
}

/// A launcher's own link carries everything once for each of those below it, while they hand it on; and each
/// level of the tree costs a login.
std::uint32_t staging_branching(std::uint64_t bytes, std::uint32_t hosts) {
  constexpr double kLink = 117e6;  // bytes per second: Gigabit Ethernet
  constexpr double kLogin = 0.2;   // seconds
  constexpr std::uint32_t kMost = 16;
  const double once = static_cast<double>(bytes) / kLink;
  if (hosts <= 2 || once * hosts < kLogin) return 0;
  std::uint32_t best = 0;
  double least = std::numeric_limits<double>::max();
  for (std::uint32_t branching = 2; branching <= kMost; ++branching) {
    std::uint32_t levels = 0;
    for (std::uint64_t reached = 0, width = 1; reached < hosts; ++levels) reached += width *= branching;
    const double cost = once * branching + kLogin * levels;
    if (cost < least) best = branching;
    least = std::min(least, cost);
  }
  return best;
}

}  // namespace charmtree
