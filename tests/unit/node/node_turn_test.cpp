// SPDX-License-Identifier: Apache-2.0
// Single turns of a launcher, event by event, where the order of what it does matters.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/unit/one_launcher.hpp"

namespace charmtree::node_turn_test {

using namespace charmtree::proto;
using namespace charmtree::test;

TEST_CASE("logins that are due come before the host's own processes", "[node]") {
  OneLauncher bench{std::uint64_t{1}};
  RootPlan plan = make_plan(9);
  plan.job.launch.batch = 3;
  Host self = plan.hosts.back();
  plan.hosts.pop_back();
  self.processes = 6;
  bench.on(LinkMessage{kParentLink, wire::Welcome{wire::encode(plan.job), self, 1}});
  CHECK(bench.count<Prepare>() == 1);
  bench.on(LinkMessage{kParentLink, wire::Assign{plan.hosts}});
  bench.on(Prepared{1});
  std::size_t logins = bench.count<Login>(), spawns = 0;
  for (int turn = 0; turn < 20 && spawns < 6; ++turn) {
    CHECK(bench.node.next_deadline() != kNever);
    bench.tick();
    logins += bench.count<Login>();
    if (bench.count<Spawn>() > 0) CHECK(logins == 3);  // as many as may be at once
    CHECK(bench.count<Spawn>() <= HostStart::kSpawnsAtOnce);
    spawns += bench.count<Spawn>();
  }
  CHECK(logins == 3);
  CHECK(spawns == 6);
}

TEST_CASE("a launcher that is told nothing ends after a while", "[node]") {
  OneLauncher bench{std::uint64_t{1}};
  bench.on(Tick{});
  const Instant by = bench.now + Node::kFirstWord;
  CHECK(bench.node.next_deadline() == by);
  SECTION("of its own accord") {
    bench.tick();
    CHECK(bench.now == by);
    CHECK(bench.count<Finish>() == 1);
    CHECK(bench.count<Send>() == 0);  // nobody is there
  }
  SECTION("but not if it has been told") {
    RootPlan plan = make_plan(1);
    bench.on(LinkMessage{kParentLink, wire::Welcome{wire::encode(plan.job), plan.hosts.front(), 1}});
    bench.now = by;
    bench.on(Tick{});
    CHECK(bench.count<Finish>() == 0);
  }
}

TEST_CASE("a launcher that is to be told when all are there waits for it", "[node]") {
  OneLauncher bench{std::uint64_t{1}, Node::kUnbounded};
  bench.on(Tick{});
  CHECK(bench.node.next_deadline() == kNever);
}

TEST_CASE("input for a process whose launcher has left goes nowhere", "[node]") {
  OneLauncher bench{make_plan(2), std::uint64_t{1}};
  bench.on(Begin{});
  for (std::size_t logins = 0; logins < 2; logins += bench.count<Login>()) bench.tick();
  for (const LinkId link : {1U, 2U}) bench.on(LinkUp{link, {}, {}, {}});
  for (const LinkId link : {1U, 2U}) {
    wire::Facts facts;
    facts.hosts_up = {link - 1};
    bench.on(LinkMessage{link, facts});
  }
  REQUIRE(bench.count<input::ReadInput>() == 1);
  bench.on(UserSignal{2});
  bench.on(LinkMessage{1, wire::Done{}});

  bench.on(input::InputRead{"too late", false});

  CHECK(bench.out.empty());  // nor is more of it asked for
}

}  // namespace charmtree::node_turn_test
