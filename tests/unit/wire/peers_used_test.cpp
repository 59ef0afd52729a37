// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/peers_used.hpp"

#include <catch2/catch.hpp>

namespace charmtree::peers_used_test {

using wire::PeersUsed;

TEST_CASE("peers that were used add up", "[peers]") {
  PeersUsed all;
  all.add({2, 1, 3, 4});
  all.add({});
  all.add({1, 0, 0, 0});
  CHECK(all == PeersUsed{3, 0, 3, 4});
}

TEST_CASE("a sum of peers stays sound, whoever lies", "[peers]") {
  const PeersUsed lie{UINT32_MAX, 256, 256, std::uint64_t{UINT32_MAX} * 256};
  REQUIRE(is_sound(lie));
  PeersUsed all{1, 2, 2, 2};
  all.add(lie);
  CHECK(all == PeersUsed{1, 2, 2, 2});
  PeersUsed lies;
  lies.add(lie);
  lies.add(lie);
  CHECK(is_sound(lies));
}

}  // namespace charmtree::peers_used_test
