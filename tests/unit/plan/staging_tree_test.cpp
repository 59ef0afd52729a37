// SPDX-License-Identifier: Apache-2.0
#include "charmrun/plan/staging_tree.hpp"

#include <catch2/catch.hpp>

namespace charmtree::staging_tree_test {

TEST_CASE("little to carry leaves the tree as it is", "[staging]") {
  CHECK(staging_branching(0, 64) == 0);
  CHECK(staging_branching(100'000, 64) == 0);
  CHECK(staging_branching(200'000'000, 2) == 0);
}

TEST_CASE("the more there is to carry, the fewer branches", "[staging]") {
  CHECK(staging_branching(200'000'000, 64) == 2);
  CHECK(staging_branching(20'000'000, 64) == 4);
  CHECK(staging_branching(2'000'000, 64) == 8);
}

TEST_CASE("all files count", "[staging]") {
  wire::StagedFiles staged;
  staged.files.resize(2);
  staged.files[0].size = 3;
  staged.files[1].size = 4;
  CHECK(total_size(staged) == 7);
}

}  // namespace charmtree::staging_tree_test
