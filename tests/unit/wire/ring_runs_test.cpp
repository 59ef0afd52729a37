// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/ring_runs.hpp"

#include <catch2/catch.hpp>

namespace charmtree::ring_runs_test {

using namespace charmtree::wire;

namespace {

using Runs = std::vector<RingRun>;
using Ends = std::vector<RingEnds>;

/// Each gives its number.
RingRun run(std::uint32_t first, std::uint32_t last) {
  return {first, last, std::to_string(first), std::to_string(last)};
}

}  // namespace

TEST_CASE("runs that meet are one", "[ring]") {
  CHECK(joined({run(0, 2), run(3, 3), run(4, 9)}) == Runs{run(0, 9)});
  CHECK(joined({run(0, 2), run(4, 4), run(5, 9)}) == Runs{run(0, 2), run(4, 9)});
  CHECK(joined({run(7, UINT32_MAX)}) == Runs{run(7, UINT32_MAX)});
  CHECK(joined({}).empty());
}

TEST_CASE("a whole ring meets itself", "[ring]") {
  CHECK(closed(run(0, 9)) == RingEnds{0, "9", "0"});
  CHECK(closed(run(0, 0)) == RingEnds{0, "0", "0"});
}

TEST_CASE("within a run each has its neighbours beside it, and the ends have what they are told", "[ring]") {
  const Runs parts{run(0, 0), run(1, 3), run(4, 4), run(8, 9)};
  const Ends ends{{8, "7", "10"}, {0, "99", "5"}};
  CHECK(ends_within(parts, joined(parts), ends) ==
        Ends{{0, "99", "1"}, {1, "0", "4"}, {4, "3", "5"}, {8, "7", "10"}});
  CHECK(ends_within({run(3, 3)}, {run(3, 3)}, {{3, "2", "4"}}) == Ends{{3, "2", "4"}});
  CHECK(ends_within({}, {}, {}) == Ends{});
}

TEST_CASE("parts that do not make up the whole, or have no ends, are told nothing", "[ring]") {
  const Ends ends{{0, "9", "4"}};
  CHECK_FALSE(ends_within({run(0, 3)}, {run(0, 3)}, {{1, "9", "4"}}));
  CHECK_FALSE(ends_within({run(0, 2)}, {run(0, 3)}, ends));
  CHECK_FALSE(ends_within({run(0, 4)}, {run(0, 3)}, ends));
  CHECK_FALSE(ends_within({run(0, 1), run(3, 3)}, {run(0, 3)}, ends));
  CHECK_FALSE(ends_within({run(0, 3), run(4, 4)}, {run(0, 3)}, ends));
  CHECK_FALSE(ends_within({}, {run(0, 3)}, ends));
  CHECK_FALSE(ends_within({run(0, UINT32_MAX)}, {run(0, 3)}, ends));
}

TEST_CASE("runs rise, overlap nowhere, and have short values", "[ring]") {
  CHECK(are_sound({run(0, 2), run(3, 3), run(9, UINT32_MAX)}));
  CHECK_FALSE(are_sound({run(2, 1)}));
  CHECK_FALSE(are_sound({run(0, 2), run(2, 3)}));
  CHECK_FALSE(are_sound({run(4, 5), run(0, 1)}));
  CHECK_FALSE(are_sound({run(0, UINT32_MAX), run(1, 2)}));
  CHECK(are_sound({{0, 0, std::string(kMostRingValue, 'x'), ""}}));
  CHECK_FALSE(are_sound({{0, 0, "", std::string(kMostRingValue + 1, 'x')}}));
}

}  // namespace charmtree::ring_runs_test
