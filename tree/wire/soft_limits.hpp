// SPDX-License-Identifier: Apache-2.0
// Soft limits of the user's shell that go along to other hosts.
#pragma once

#include <cstdint>

namespace charmtree::wire {

/// A process gets each of them where its host would give it less, as far as the hard limit there allows.
/// 0: as it is there; UINT64_MAX: none.
struct SoftLimits {
  std::uint64_t core = 0;       // bytes of a core file
  std::uint64_t stack = 0;      // bytes
  std::uint64_t locked = 0;     // bytes that the process may lock in memory
  std::uint64_t processes = 0;  // of the user
  friend bool operator==(const SoftLimits&, const SoftLimits&) = default;
};

}  // namespace charmtree::wire
