// SPDX-License-Identifier: Apache-2.0
// What fuzz targets have in common.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace charmtree::fuzz {

/// What the fuzzer takes for a crash.
inline void require(bool condition) {
  if (!condition) __builtin_trap();
}

/// Each line of a script is a step of the world.
template <class World>
void play(World& world, const std::uint8_t* data, std::size_t size) {
  for (std::string_view script{reinterpret_cast<const char*>(data), size}; !script.empty();) {
    const std::string_view line = script.substr(0, script.find('\n'));
    script.remove_prefix(std::min(script.size(), line.size() + 1));
    world.step(line);
  }
}

}  // namespace charmtree::fuzz
