// SPDX-License-Identifier: Apache-2.0
#include "tree/base/hexadecimal.hpp"

#include <fmt/format.h>

namespace charmtree {

std::string hexadecimal(std::string_view bytes) {
  std::string digits;
  for (const unsigned char each : bytes) digits += fmt::format("{:02x}", each);
  return digits;
}

}  // namespace charmtree
