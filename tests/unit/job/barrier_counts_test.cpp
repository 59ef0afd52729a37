// SPDX-License-Identifier: Apache-2.0
#include "tree/job/barrier_counts.hpp"

#include <catch2/catch.hpp>

namespace charmtree::barrier_counts_test {

using namespace charmtree::proto;

TEST_CASE("a barrier opens when all that are awaited have entered it, and is empty again",
          "[barrier_counts]") {
  BarrierCounts barriers;
  CHECK_FALSE(barriers.open(BarrierKind::all, 0));  // nobody is in it
  barriers.enter(0, {3, 1, 0});
  CHECK_FALSE(barriers.open(BarrierKind::all, 4));
  CHECK(barriers.open(BarrierKind::all, 3));
  CHECK_FALSE(barriers.open(BarrierKind::all, 3));
  CHECK(barriers.open(BarrierKind::root, 1));
  CHECK(barriers.opened(BarrierKind::all) == 1);
  CHECK_FALSE(barriers.leaving());
  barriers.enter(0, {0, 0, 3});
  CHECK(barriers.open(BarrierKind::leave, 3));
  CHECK(barriers.leaving());
}

TEST_CASE("counts of another epoch are void, those of barriers that have opened are not",
          "[barrier_counts]") {
  BarrierCounts barriers;
  barriers.enter(0, {3, 0, 0});
  CHECK(barriers.open(BarrierKind::all, 3));
  barriers.enter(0, {2, 0, 0});
  barriers.begin_epoch(4);
  barriers.enter(0, {2, 0, 0});
  CHECK_FALSE(barriers.open(BarrierKind::all, 1));
  barriers.enter(4, {2, 0, 0});
  CHECK(barriers.open(BarrierKind::all, 2));
  CHECK(barriers.opened(BarrierKind::all) == 2);
}

TEST_CASE("whoever is let go is in no barrier, and the epoch goes on", "[barrier_counts]") {
  BarrierCounts barriers;
  barriers.begin_epoch(2);
  barriers.enter(2, {2, 0, 0});
  barriers.clear();
  barriers.enter(2, {1, 0, 0});
  CHECK_FALSE(barriers.open(BarrierKind::all, 2));
}

TEST_CASE("another root may have opened barriers", "[barrier_counts]") {
  BarrierCounts barriers;
  barriers.resume({3, 0, 1});
  CHECK(barriers.opened(BarrierKind::all) == 3);
  CHECK(barriers.leaving());
}

}  // namespace charmtree::barrier_counts_test
