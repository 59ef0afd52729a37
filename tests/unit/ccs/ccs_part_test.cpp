// SPDX-License-Identifier: Apache-2.0
#include "ccs/ccs_part.hpp"

#include "tests/unit/part_bench.hpp"

namespace charmtree::ccs_part_test {

using namespace charmtree::proto;
using Role = test::PartBench::Role;

namespace {

wire::CcsSpread request(std::uint32_t token, wire::ProcessSet::Range processes) {
  wire::CcsSpread piece;
  piece.token = token;
  piece.first = piece.last = true;
  piece.processes = {processes};
  piece.bytes = "ping";
  return piece;
}

}  // namespace

TEST_CASE("a request goes once to each child below which a process is meant", "[ccs_part]") {
  test::PartBench b{Role::below};
  CcsPart part;
  const LinkId first = b.child(), second = b.child();
  b.child();
  part.down(request(1, {4, 5}), b);
  REQUIRE(b.handed_down.size() == 2);
  CHECK(b.handed_down[0].first == first);
  CHECK(b.handed_down[1].first == second);
}

TEST_CASE("an answer that nobody merges goes on up", "[ccs_part]") {
  test::PartBench b{Role::below};
  CcsPart part;
  wire::CcsAnswer answer;
  answer.token = 5;
  part.up(b.child(), answer, b);
  REQUIRE(b.told_up.size() == 1);
  CHECK(get<wire::CcsAnswer>(b.told_up[0]).token == 5);
  CHECK_FALSE(part.merges(answer, b));
}

TEST_CASE("a request fails with the child that is to answer, lost before or after", "[ccs_part]") {
  test::PartBench b{Role::below};
  CcsPart part;
  const LinkId link = b.child();
  const auto failure = [&]() -> std::string {
    REQUIRE(b.told_up.size() == 1);
    return get<wire::CcsAnswer>(b.told_up[0]).failure;
  };
  SECTION("after") {
    part.down(request(1, {4, 4}), b);
    CHECK(b.told_up.empty());
    part.lost(*b.launch.find(link), link, b);
    CHECK(failure() == "the launcher of h0 is lost");
  }
  SECTION("before") {
    b.launch.find(link)->lost();
    part.down(request(1, {4, 4}), b);
    CHECK(b.handed_down.empty());
    CHECK(failure() == "the launcher of h0 is lost");
  }
}

}  // namespace charmtree::ccs_part_test
