// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/ipv4.hpp"

#include <fmt/format.h>

namespace charmtree::wire {

std::string dotted(std::uint32_t ipv4) {
  return fmt::format("{}.{}.{}.{}", ipv4 >> 24, (ipv4 >> 16) & 255, (ipv4 >> 8) & 255, ipv4 & 255);
}

}  // namespace charmtree::wire
