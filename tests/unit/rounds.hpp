// SPDX-License-Identifier: Apache-2.0
// How often a test that tries many worlds does so.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace charmtree::test {

/// `few` in every run of the tests, `all` in `tests/campaign unit`.
inline std::uint32_t rounds(std::uint32_t few, std::uint32_t all) {
  return std::getenv("CHARMTREE_CAMPAIGN") != nullptr ? all : few;
}

}  // namespace charmtree::test
