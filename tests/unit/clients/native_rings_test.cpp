// SPDX-License-Identifier: Apache-2.0
// Rings of native clients, as the server of their host sees them: processes 4 to 6 of ten.
#include "tests/unit/native_bench.hpp"

namespace charmtree::native_rings_test {

using namespace charmtree::proto;
namespace native = charmtree::wire::native;
using Gives = native::FenceEnter::Gives;

namespace {

struct Bench : test::NativeBench {
  using NativeBench::NativeBench;
  void enter(ClientId client, const std::string& value, std::uint32_t id = 1) {
    says(client, native::FenceEnter{id, Gives::ring, {}, value});
  }
  std::vector<RingEntered> up() const { return test::only<RingEntered>(out); }
  void over(std::uint32_t number) { server.ringed({number, {{4, "left", "right"}}}, out); }
  std::string failure(ClientId client) const {
    return heard(client).empty() ? "-" : get<native::FenceOver>(heard(client).back().first).failure;
  }
};

}  // namespace

TEST_CASE("a host enters a ring as one, and each has its neighbours", "[ring]") {
  Bench b;
  b.enter(6, "six", 9);
  b.enter(4, "four");
  CHECK(b.up().empty());
  b.enter(5, "five");
  REQUIRE(b.up().size() == 1);
  CHECK((b.up()[0].number == 1 && b.up()[0].runs == std::vector<wire::RingRun>{{4, 6, "four", "six"}}));
  b.out.clear();
  b.over(1);
  CHECK(b.heard(4).at(0).first == native::FromLauncher{native::RingOver{1, "left", "five"}});
  CHECK(b.heard(5).at(0).first == native::FromLauncher{native::RingOver{1, "four", "six"}});
  CHECK(b.heard(6).at(0).first == native::FromLauncher{native::RingOver{9, "five", "right"}});
  b.out.clear();
  b.over(1);
  CHECK(b.out.empty());
}

TEST_CASE("a process may be in several rings, which go up one after the other", "[ring]") {
  Bench b;
  for (const ClientId client : {4, 5, 6, 4, 5, 6}) b.enter(client, "x");
  CHECK(b.up().size() == 1);
  b.out.clear();
  b.over(2);
  CHECK(b.out.empty());
  b.over(1);
  REQUIRE(b.up().size() == 1);
  CHECK(b.up()[0].number == 2);
}

TEST_CASE("a ring with a lost process fails on every host, at once", "[ring]") {
  Bench b;
  for (const ClientId client : {4, 5, 6}) b.enter(client, "x");
  b.out.clear();
  b.server.lost({{9, 9}}, b.out);
  for (const ClientId client : {4, 5, 6}) CHECK(b.failure(client) == "process 9 is lost");
  b.out.clear();
  b.enter(5, "x");
  CHECK((b.failure(5) == "process 9 is lost" && b.up().empty()));
}

TEST_CASE("nobody waits in a ring for a neighbour on its host that is lost", "[ring]") {
  Bench b;
  b.enter(4, "x");
  b.enter(5, "x");
  b.server.closed(5, Bench::kStart, b.out);
  b.out.clear();
  b.server.lost({{5, 5}}, b.out);
  CHECK((b.failure(4) == "process 5 is lost" && b.heard(5).empty()));
}

TEST_CASE("a ring of one host is none of the tree's", "[ring]") {
  Bench b{true, 0, 3};
  for (const ClientId client : {0, 1, 2}) b.enter(client, std::to_string(client));
  CHECK(b.up().empty());
  CHECK(b.heard(0).at(0).first == native::FromLauncher{native::RingOver{1, "2", "1"}});
  CHECK(b.heard(2).at(0).first == native::FromLauncher{native::RingOver{1, "1", "0"}});
}

TEST_CASE("where processes are started again one by one each ring fails at once", "[ring]") {
  Bench b{false};
  b.enter(4, "x", 7);
  CHECK_FALSE(b.failure(4).empty());
  CHECK(b.up().empty());
}

TEST_CASE("nobody is done inside a ring, nor gives it much", "[ring]") {
  Bench b;
  b.enter(4, std::string(wire::kMostRingValue, 'x'));
  CHECK_FALSE(b.is_closed(4));
  b.says(4, native::Finalize{0});
  CHECK(b.is_closed(4));
  b.enter(5, std::string(wire::kMostRingValue + 1, 'x'));
  CHECK(b.is_closed(5));
}

}  // namespace charmtree::native_rings_test
