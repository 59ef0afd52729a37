// SPDX-License-Identifier: Apache-2.0
// Processes that are, or are about to be, on one host.
#pragma once

#include <cstdint>

namespace charmtree::wire {

struct Share {
  std::uint32_t host = 0;
  std::uint32_t first_process = 0;
  std::uint32_t processes = 0;
  friend bool operator==(const Share&, const Share&) = default;
};

}  // namespace charmtree::wire
