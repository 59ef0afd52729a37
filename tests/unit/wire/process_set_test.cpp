// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/process_set.hpp"

#include <catch2/catch.hpp>

namespace charmtree::process_set_test {

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

TEST_CASE("ranges are added over what is there, and what is not there can be asked", "[process_set]") {
  using Ranges = std::vector<ProcessSet::Range>;
  ProcessSet set;
  CHECK(set.missing({3, 5}) == Ranges{{3, 5}});
  set.add({4, 6});
  set.add({10, 12});
  CHECK(set.size() == 6);
  CHECK(set.contains(4));
  CHECK(set.contains(12));
  CHECK_FALSE(set.contains(7));
  CHECK(set.missing({0, UINT32_MAX}) == Ranges{{0, 3}, {7, 9}, {13, UINT32_MAX}});
  CHECK(set.missing({5, 11}) == Ranges{{7, 9}});
  CHECK(set.missing({5, 6}).empty());
  set.add({5, 9});  // joins both
  CHECK(set.print() == "4-12");
  CHECK(set.size() == 9);
  set.add({0, 20});
  CHECK(set.print() == "0-20");
  set.add({22, UINT32_MAX});
  CHECK(set.contains(UINT32_MAX));
  CHECK(set.missing({0, UINT32_MAX}) == Ranges{{21, 21}});
}

}  // namespace charmtree::process_set_test
