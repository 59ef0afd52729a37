// SPDX-License-Identifier: Apache-2.0
// What all processes of whole jobs do.
#include <catch2/catch.hpp>

#include "tests/unit/small_world.hpp"
#include "tree/base/signals.hpp"

namespace charmtree::node_stacks_test {

using namespace charmtree::proto;
using namespace charmtree::test;
using wire::Motion;
using Why = StacksFor::Why;

namespace {

void stay(SmallWorld& world) {
  for (Actor& actor : world.actors) actor.fate = Actor::Fate::stays;
  world.act = [](std::uint32_t process) {
    return process == 5 ? Seen{{"main", "spin"}, Motion::computes} : Seen{{"main", "wait"}, Motion::waits};
  };
}

std::uint32_t total(const wire::Stacks& stacks) {
  std::uint32_t processes = 0;
  for (const wire::StackGroup& group : stacks.groups) processes += group.processes;
  return processes;
}

}  // namespace

TEST_CASE("who asks learns what all processes do, and which one does something else", "[stacks]") {
  SmallWorld world{{.hosts = 20, .slots = {2}}};
  stay(world);
  world.at(60s, [&] { world.ask_stacks(); });
  world.at(62s, [&] { world.ask_stacks(); });
  world.at(70s, [&] { world.user_signal(15); });
  world.run();
  REQUIRE(world.stacks.size() == 2);
  for (const StacksSeen& seen : world.stacks) {
    CHECK((seen.asker.why == Why::asked && total(seen.stacks) == 40));
    REQUIRE(seen.stacks.groups.size() == 2);
    CHECK((seen.stacks.groups[1].processes == 1 && seen.stacks.groups[1].which.front().first == 5));
  }
}

TEST_CASE("SIGQUIT and the end of the time limit show what processes do", "[stacks]") {
  SmallWorld world{{.hosts = 4, .slots = {2}, .time_limit = 90s}};
  stay(world);
  world.at(60s, [&] { world.user_signal(signals::kQuit); });
  world.run();
  REQUIRE(world.stacks.size() == 2);
  CHECK(world.stacks[0].asker.why == Why::quit);
  CHECK((world.stacks[1].asker.why == Why::time_limit && total(world.stacks[1].stacks) == 8));
  REQUIRE(world.result);
  CHECK(world.result->status == 124);
}

TEST_CASE("the time limit holds though a launcher does not answer", "[stacks]") {
  SmallWorld world{{.hosts = 4, .slots = {2}, .time_limit = 90s, .heartbeat = {Duration{0}}}};
  stay(world);
  world.at(80s, [&] { world.freeze_launcher(2); });
  world.run();
  REQUIRE(world.stacks.size() == 1);
  CHECK(total(world.stacks[0].stacks) == 8);
  REQUIRE(world.result);
  CHECK(world.result->status == 124);
  CHECK(world.result_at < 110s);
}

TEST_CASE("who asks while the job ends is answered, with nothing", "[stacks]") {
  SmallWorld world{{.hosts = 2, .slots = {2}}};
  stay(world);
  world.at(60s, [&] {
    world.ask_stacks();
    world.user_signal(15);
  });
  world.run();
  REQUIRE(world.stacks.size() == 1);
  CHECK(world.stacks[0].stacks.groups.empty());
}

}  // namespace charmtree::node_stacks_test
