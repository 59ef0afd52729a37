// SPDX-License-Identifier: Apache-2.0
#include "tree/job/time_limit.hpp"

#include <catch2/catch.hpp>

namespace charmtree::time_limit_test {

using namespace charmtree::proto;

TEST_CASE("a time limit is reached once, or never if the job ends before", "[time_limit]") {
  const Instant now{50s};
  TimeLimit limit{5s};
  CHECK_FALSE(limit.is_reached(now));
  limit.begin(now);
  CHECK(limit.next_deadline() == now + 5s);
  CHECK_FALSE(limit.is_reached(now + 5s - 1ms));
  TimeLimit lifted = limit;
  CHECK(limit.is_reached(now + 5s));
  CHECK_FALSE(limit.is_reached(now + 6s));
  lifted.lift();
  CHECK_FALSE(lifted.is_reached(now + 6s));
  TimeLimit none{Duration{0}};
  none.begin(now);
  CHECK(none.next_deadline() == kNever);
}

}  // namespace charmtree::time_limit_test
