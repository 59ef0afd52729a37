// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "client-lib/barriers.hpp"

namespace charmtree::client_lib_barriers_test {

using charmtree::client::Barriers;

TEST_CASE("a barrier opens for a process that is inside, and is counted", "[barriers]") {
  Barriers barriers;
  CHECK(barriers.is_outside());
  CHECK_FALSE(barriers.heard(wire::native::BarrierRelease{}));
  barriers.enter();
  CHECK(barriers.is_inside());
  CHECK(barriers.heard(wire::native::BarrierRelease{}));
  CHECK(barriers.is_released());
  CHECK(barriers.opened() == 1);
  CHECK_FALSE(barriers.heard(wire::native::BarrierRelease{}));
  barriers.leave();
  CHECK(barriers.is_outside());
}

TEST_CASE("another epoch voids the barrier that a process is inside, and no other", "[barriers]") {
  Barriers barriers;
  barriers.heard(1);
  CHECK(barriers.is_outside());
  barriers.enter();
  barriers.heard(1);
  CHECK(barriers.is_inside());
  barriers.heard(2);
  CHECK(barriers.is_voided());
  CHECK(barriers.epoch() == 2);
  CHECK_FALSE(barriers.heard(wire::native::BarrierRelease{}));
  barriers.enter();
  CHECK(barriers.heard(wire::native::BarrierRelease{}));
  barriers.heard(3);
  CHECK(barriers.is_released());
}

TEST_CASE("barriers that opened without a process are counted as well", "[barriers]") {
  Barriers barriers;
  barriers.pass();
  CHECK(barriers.opened() == 1);
  barriers.heard(wire::native::Missed{7});
  CHECK(barriers.opened() == 7);
}

}  // namespace charmtree::client_lib_barriers_test
