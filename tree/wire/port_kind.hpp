// SPDX-License-Identifier: Apache-2.0
// Of which kind of socket a port is that a launcher has reserved for a process.
#pragma once

#include <cstddef>
#include <cstdint>

namespace charmtree::wire {

enum class PortKind : std::uint8_t { tcp = 1, udp = 2 };
inline constexpr std::size_t kPortKinds = 2;
/// From 0 on.
constexpr std::size_t place_of(PortKind kind) {
  return static_cast<std::size_t>(kind) - 1;
}

}  // namespace charmtree::wire
