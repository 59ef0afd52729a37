// SPDX-License-Identifier: Apache-2.0
#include "health/orphan_bound.hpp"

#include <catch2/catch.hpp>

namespace charmtree::orphan_bound_test {

using namespace charmtree::proto;

TEST_CASE("what bounds how long something may be left on a host", "[orphan_bound]") {
  OrphanBound bound{{250ms, 1s, 8s}};
  CHECK(bound.time() == 8s + OrphanBound::kSlack);
  bound.blind({2});
  CHECK(bound.holds_for(1));
  CHECK_FALSE(bound.holds_for(2));
  OrphanBound next{{250ms, 1s, 8s}};
  next.take_over(bound);
  CHECK_FALSE(next.holds_for(2));
  CHECK(next.holds_for(1));
  next.suspended();
  CHECK_FALSE(next.holds_for(1));
  CHECK_FALSE(OrphanBound{{0ms, 1s, 8s}}.holds_for(1));
}

}  // namespace charmtree::orphan_bound_test
