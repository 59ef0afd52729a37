// SPDX-License-Identifier: Apache-2.0
// Jobs whose Charm++ processes are forked by the first one of their host.
#include <catch2/catch.hpp>

#include "tests/unit/small_world.hpp"

namespace charmtree::node_fork_test {

using namespace charmtree::proto;
using namespace charmtree::test;
using wire::ForkClients;

namespace {

Plan forking(ForkClients fork_clients = ForkClients::always) {
  Plan plan{.hosts = 3, .slots = {3, 1, 4}};
  plan.fork_clients = fork_clients;
  plan.can_fork = true;
  return plan;
}

/// Processes that were not started by a launcher are spawned, too, once they are forked.
std::size_t spawned_by(const SmallWorld& world, std::size_t first, std::size_t count) {
  std::size_t spawned = 0;
  for (std::size_t i = first; i < first + count; ++i) spawned += world.actors[i].spawned ? 1 : 0;
  return spawned;
}

}  // namespace

TEST_CASE("where clients are forked each host starts one process and adopts the others", "[node]") {
  SmallWorld world{forking()};
  for (const std::uint32_t first : {0U, 3U, 4U}) world.actors[first].life = 50ms;
  world.at(10ms, [&] { CHECK(spawned_by(world, 0, 8) == 0); });
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 0);
  CHECK(world.alive() == 0);
  for (std::uint32_t i = 0; i < 8; ++i) {
    CAPTURE(i);
    CHECK(world.actors[i].own == i);
    CHECK(world.actors[i].entered == 9);
    CHECK(world.actors[i].host == (i < 3 ? 0U : i < 4 ? 1U : 2U));
  }
  CHECK(world.said_anywhere("n00: process 0 forks processes 1 to 2", Tone::verbose));
  CHECK(world.said_anywhere("n02: process 4 forks processes 5 to 7", Tone::verbose));
  CHECK_FALSE(world.said_anywhere("n01: process"));
  CHECK_FALSE(world.said_anywhere("warning"));
}

TEST_CASE("a kernel that randomises addresses is told of once, and clients are forked there if they can be",
          "[node]") {
  Plan plan = forking(ForkClients::where_random);
  plan.random_layout = true;
  SECTION("they can") {
    SmallWorld world{plan};
    world.run();
    CHECK(world.result->status == 0);
    CHECK(world.said_anywhere("process 0 forks"));
    CHECK(world.said_anywhere("n[00-02]: warning: the kernel refuses to turn address randomisation off",
                              Tone::info));
  }
  SECTION("they cannot") {
    plan.can_fork = false;
    SmallWorld world{plan};
    world.run();
    CHECK(world.result->status == 0);
    CHECK_FALSE(world.said_anywhere("forks"));
    CHECK(world.said_anywhere("n[00-02]: warning: the kernel refuses", Tone::info));
  }
  SECTION("on one host they are alike") {
    plan.hosts = 1;
    SmallWorld world{plan};
    world.run();
    CHECK(world.result->status == 0);
    CHECK(world.said_anywhere("process 0 forks"));
    CHECK_FALSE(world.said_anywhere("warning"));
  }
  SECTION("plain programs do not care") {
    SmallWorld world{plan};
    for (Actor& actor : world.actors) actor.kind = Actor::Kind::plain;
    world.run();
    CHECK(world.result->status == 0);
    CHECK_FALSE(world.said_anywhere("warning"));
  }
}

TEST_CASE("a kernel that can fix addresses needs no forks", "[node]") {
  SmallWorld world{forking(ForkClients::where_random)};
  world.run();
  CHECK(world.result->status == 0);
  CHECK_FALSE(world.said_anywhere("forks"));
}

TEST_CASE("a program that leaves without registering leaves for those that it did not fork, too", "[node]") {
  SmallWorld world{forking()};
  for (Actor& actor : world.actors) {
    actor.kind = Actor::Kind::plain;
    actor.code = 3;
  }
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 3);
  CHECK(spawned_by(world, 0, 8) == 3);
}

TEST_CASE("the death of a forked process counts like any other's", "[node]") {
  SmallWorld world{forking()};
  world.actors[6].fate = Actor::Fate::exits;
  SECTION("found") {
    world.actors[6].signal = 11;
    world.run();
    CHECK(world.result->status == 139);
    CHECK(world.said_anywhere("n02: run: process 6: killed by signal 11", Tone::error));
  }
  SECTION("nobody knows its pid") {
    world.actors[6].hidden = true;
    world.run();
    CHECK(world.result->status == 1);
    CHECK(world.said_anywhere("n02: run: process 6: closed its connection without `ending`", Tone::error));
    CHECK(world.said_anywhere("the pid of forked process 6 does not show", Tone::verbose));
  }
  CHECK(world.alive() == 0);
}

TEST_CASE("forked processes are killed with the job", "[node]") {
  SmallWorld world{forking()};
  for (Actor& actor : world.actors) {
    actor.fate = Actor::Fate::stays;
    actor.stubborn = true;
  }
  world.at(2s, [&] { world.user_signal(2); });
  world.run();
  REQUIRE(world.result);
  CHECK(world.alive() == 0);
  for (const Actor& actor : world.actors) CHECK(actor.signals == std::vector<int>{9});
}

TEST_CASE("a program of an old Charm++ ends the job with one line", "[node]") {
  SmallWorld world{{.hosts = 2, .slots = {2}}};
  for (Actor& actor : world.actors) actor.old = true;
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 125);
  std::size_t errors = 0;
  for (const Say& say : world.said) errors += say.tone == Tone::error ? 1 : 0;
  CHECK(errors == 1);
  CHECK(
      world.said_anywhere(": this program is Charm++ 6.8 or older; build it with 6.9 or newer", Tone::error));
  CHECK(world.result_at < 5s);
}

}  // namespace charmtree::node_fork_test
