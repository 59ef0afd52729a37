// SPDX-License-Identifier: Apache-2.0
#include "input/input_spread.hpp"

#include <catch2/catch.hpp>

namespace charmtree::input_spread_test {

using namespace charmtree::input;
using Taker = InputSpread::Taker;

namespace {
constexpr Taker kOne{Taker::Kind::process, 1}, kTwo{Taker::Kind::process, 2}, kBelow{Taker::Kind::link, 1};
}  // namespace

TEST_CASE("the progress of a copied input is that of the slowest", "[input_spread]") {
  InputSpread spread;
  spread.sent({kOne, kTwo, kBelow}, 100);
  CHECK(spread.take_progress() == 0);
  spread.taken(kOne, 100);
  spread.taken(kTwo, 70);
  CHECK(spread.take_progress() == 0);
  spread.taken(kBelow, 80);
  CHECK(spread.take_progress() == 70);
  CHECK(spread.take_progress() == 0);
  spread.sent({kOne, kTwo, kBelow}, 50);
  spread.taken(kTwo, 1000);  // more than there is
  CHECK(spread.take_progress() == 10);
  spread.taken(kBelow, 70);
  CHECK(spread.take_progress() == 20);
}

TEST_CASE("nobody waits for those who are gone", "[input_spread]") {
  InputSpread spread;
  spread.sent({kOne, kTwo}, 100);
  spread.taken(kOne, 60);
  spread.gone(kTwo);
  CHECK(spread.take_progress() == 60);
  spread.taken(kTwo, 100);  // its last words
  CHECK(spread.take_progress() == 0);
  spread.sent({kTwo, kBelow}, 10);  // one is gone, and others are new
  CHECK(spread.take_progress() == 40);
  spread.taken(kBelow, 10);
  spread.taken(kTwo, 10);
  CHECK(spread.take_progress() == 10);
  spread.sent({}, 5);
  CHECK(spread.take_progress() == 5);
}

}  // namespace charmtree::input_spread_test
