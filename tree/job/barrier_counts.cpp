// SPDX-License-Identifier: Apache-2.0
#include "tree/job/barrier_counts.hpp"

namespace charmtree::proto {

void BarrierCounts::enter(std::uint32_t epoch, const Counts& more) {
  if (epoch != epoch_) return;
  for (std::size_t kind = 0; kind < kBarrierKinds; ++kind) entered_[kind] += more[kind];
}

void BarrierCounts::begin_epoch(std::uint32_t epoch) {
  epoch_ = epoch;
  clear();
}

bool BarrierCounts::open(BarrierKind kind, std::uint32_t awaited) {
  std::uint32_t& entered = entered_[static_cast<std::size_t>(kind)];
  if (entered == 0 || entered < awaited) return false;
  entered = 0;
  ++opened_[static_cast<std::size_t>(kind)];
  return true;
}

}  // namespace charmtree::proto
