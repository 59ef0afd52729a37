// SPDX-License-Identifier: Apache-2.0
// The identity of a fence: all processes of a group wait for each other, and what each of them contributes
// goes to the hosts of all (PMIx_Fence). Client servers and the fence service (kvs/fence) name fences by it.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tree/wire/process_set.hpp"

namespace charmtree::wire {

struct Fence {
  std::uint8_t protocol = 0;                 // proto::ClientKind: contributions are in a form of its own
  std::vector<ProcessSet::Range> processes;  // that take part; they rise, with gaps between them
  std::uint32_t number = 0;                  // of the fences of this group and name, from 1
  std::string name;                          // distinguishes fences of the same processes at the same time
  bool same_group(const Fence& other) const {
    return protocol == other.protocol && processes == other.processes && name == other.name;
  }
  /// Returns the first fence of the same group and name.
  Fence first() const { return {protocol, processes, 1, name}; }
  friend auto operator<=>(const Fence&, const Fence&) = default;
};

/// Bytes that a process may contribute to a fence: the longest value of PMI, and its key.
inline constexpr std::size_t kMostGiven = 17U << 10;
/// Fences in which a process may wait at a time.
inline constexpr std::size_t kMostFencesAtOnce = 64;
/// Bytes of a name: Open MPI's longest tag of a communicator, and what it adds.
inline constexpr std::size_t kMostFenceName = 2U << 10;
/// Ranges of a group. A launcher may send as many, however few processes are below it (kMaxSaid).
inline constexpr std::size_t kMostFenceRanges = 4096;

/// Checks number, name and group: no range is empty, and they rise with gaps.
inline bool is_sound(const Fence& fence) {
  std::uint64_t least = 0;
  for (const auto& [first, last] : fence.processes) {
    if (first < least || last < first) return false;
    least = std::uint64_t{last} + 2;
  }
  return !fence.processes.empty() && fence.processes.size() <= kMostFenceRanges && fence.number > 0 &&
         fence.name.size() <= kMostFenceName;
}

}  // namespace charmtree::wire
