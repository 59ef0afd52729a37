// SPDX-License-Identifier: Apache-2.0
#include "tree/turn/ending.hpp"

#include <array>

namespace charmtree::proto {

std::string_view name(Cause cause) {
  static constexpr std::array<std::string_view, 8> kNames = {
      "finished", "exit", "killed", "abort", "connection", "signal", "time limit", "launcher"};
  return kNames[static_cast<std::size_t>(cause)];
}

}  // namespace charmtree::proto
