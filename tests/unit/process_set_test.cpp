// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/process_set.hpp"

#include <catch2/catch.hpp>

using charmtree::wire::ProcessSet;

TEST_CASE("a set of processes is printed as ranges, in whatever order they came", "[process_set]") {
  ProcessSet set;
  CHECK(set.size() == 0);
  for (const std::uint32_t process : {5U, 3U, 9U, 4U, 4U, 0U, 10U, 1U}) set.add(process);
  CHECK(set.print() == "0-1,3-5,9-10");
  CHECK(set.size() == 7);
  CHECK(set.lowest() == 0);
  set.add(2);
  CHECK(set.print() == "0-5,9-10");
  set.add(UINT32_MAX);
  CHECK(set.print() == "0-5,9-10,4294967295");
}

TEST_CASE("a full set is one range", "[process_set]") {
  ProcessSet set;
  for (std::uint32_t i = 0; i < 1000; ++i) set.add(i * 7 % 1000);
  CHECK(set.print() == "0-999");
  CHECK(set.size() == 1000);
  CHECK(set.ranges().size() == 1);
}
