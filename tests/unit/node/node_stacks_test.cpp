// SPDX-License-Identifier: Apache-2.0
// What all processes of whole jobs do.
#include <catch2/catch.hpp>

#include <algorithm>

#include "tests/unit/small_world.hpp"
#include "tree/base/signals.hpp"

namespace charmtree::node_stacks_test {

using namespace charmtree::proto;
using namespace charmtree::stacks;
using namespace charmtree::test;
using Why = StacksFor::Why;

namespace {

void stay(SmallWorld& world) {
  for (Actor& actor : world.actors) actor.fate = Actor::Fate::stays;
  world.act = [](std::uint32_t process) {
    return process == 5 ? Seen{{"main", "spin"}, Motion::computes} : Seen{{"main", "wait"}, Motion::waits};
  };
}

std::uint32_t total(const stacks::Stacks& stacks) {
  std::uint32_t processes = 0;
  for (const stacks::StackGroup& group : stacks.groups) processes += group.processes;
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

TEST_CASE("what the others did is told before a job ends that a crash ends", "[stacks]") {
  SmallWorld world{{.hosts = 20, .slots = {2}}};
  stay(world);
  world.at(60s, [&] { world.kill_process(5, 11); });
  world.run();
  REQUIRE((world.result && world.stacks.size() == 1));
  CHECK((world.stacks[0].asker.why == Why::crash && total(world.stacks[0].stacks) == 40));
  const auto& groups = world.stacks[0].stacks.groups;
  const auto crashed = std::find_if(groups.begin(), groups.end(),
                                    [](const auto& group) { return group.motion == Motion::crashed; });
  REQUIRE(crashed != groups.end());
  CHECK((crashed->processes == 1 && crashed->which.front().first == 5));
  CHECK((world.result->status == 139 && world.result->why.stack == Frames{"main", "spin"}));
}

TEST_CASE("other ends of a process ask nothing, nor does a job that is to end at once", "[stacks]") {
  SmallWorld world{{.hosts = 4, .slots = {2}}};
  stay(world);
  SECTION("killed by somebody") {
    world.at(60s, [&] { world.kill_process(5, 9); });
    world.run();
    CHECK(world.result->status == 137);
  }
  SECTION("the user does not wait") {
    world.at(60s, [&] { world.kill_process(5, 11); });
    world.at(60s + 50ms, [&] { world.user_signal(2); });
    world.run();
    CHECK(world.result->status == 139);
  }
  CHECK(world.stacks.empty());
}

TEST_CASE("a launcher that does not answer holds up the end of a crashed job for 3 s", "[stacks]") {
  Duration ends[2];
  for (const bool crashes : {false, true}) {
    SmallWorld world{{.hosts = 4, .slots = {2}, .heartbeat = {Duration{0}}}};
    stay(world);
    world.at(59s, [&] { world.freeze_launcher(2); });
    world.at(60s, [&] { world.kill_process(2, crashes ? 11 : 9); });
    world.run();
    REQUIRE(world.result);
    CHECK(world.stacks.size() == (crashes ? 1 : 0));
    ends[crashes ? 1 : 0] = world.result_at;
  }
  CHECK((ends[1] > ends[0] && ends[1] - ends[0] <= 3s));
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
