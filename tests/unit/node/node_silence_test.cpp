// SPDX-License-Identifier: Apache-2.0
// Whole jobs of Charm++ processes that fall silent.
#include <catch2/catch.hpp>

#include "tests/unit/small_world.hpp"

namespace charmtree::node_silence_test {

using namespace charmtree::proto;
using namespace charmtree::test;
using State = wire::Silence::State;

namespace {

/// Four processes on two hosts that go on for ever. They ping every 2 s, but for process 3 in its silence.
void run(SmallWorld& world, Duration silent_from, Duration silent_until, Duration ends) {
  for (Actor& actor : world.actors) actor.fate = Actor::Fate::stays;
  for (Duration time = 1s; time < ends; time += 2s) {
    world.at(time, [&world, time, silent_from, silent_until] {
      for (std::uint32_t process = 0; process < 4; ++process) {
        const bool silent = process == 3 && time >= silent_from && time < silent_until;
        if (!silent && world.actors[process].alive) world.ping(process);
      }
    });
  }
  world.at(ends, [&world] { world.user_signal(15); });
  world.run();
}

Plan plan(wire::SilenceRules rules) {
  return {.hosts = 2, .slots = {2}, .watched = true, .silence = rules};
}

}  // namespace

TEST_CASE("a process that falls silent is told, and that it serves its socket again", "[silence]") {
  SmallWorld world{plan({10s})};
  run(world, 20s, 50s, 100s);
  REQUIRE(world.result);
  CHECK(world.result->signal == 15);
  CHECK(world.said_anywhere(
      "process 3 on n01 has not served its socket for 10 s: it computes or hangs (++hang-after)",
      Tone::info));
  CHECK(world.said_anywhere("process 3 on n01 serves its socket again, after ", Tone::info));
  std::vector<wire::Silence> told;
  std::uint32_t most = 0;
  for (const Progress& each : world.progress) {
    told.insert(told.end(), each.silences.begin(), each.silences.end());
    most = std::max(most, each.status.silent);
  }
  REQUIRE(told.size() == 2);
  CHECK((told[0].process == 3 && told[0].state == State::hung && told[1].state == State::over));
  CHECK(most == 1);
  CHECK(world.result->why.silent.empty());
}

TEST_CASE("of a job that ends it is told who was silent", "[silence]") {
  SmallWorld world{plan({10s})};
  run(world, 20s, kForever, 60s);
  REQUIRE(world.result);
  CHECK(world.result->why.silent.print() == "3");
}

TEST_CASE("a silent process is killed if the user wants that, and the reason is told", "[silence]") {
  SmallWorld world{plan({10s, true})};
  run(world, 20s, kForever, 100s);
  REQUIRE(world.result);
  CHECK(world.result->status == 137);
  CHECK(world.result->signal == 0);
  CHECK(world.said_anywhere(
      "n01: run: process 3: killed by ++hang-action: it had not served its socket for 10 s "
      "(status 137); if it was computing, allow it more (++hang-after)",
      Tone::error));
  CHECK_FALSE(world.said_anywhere("it computes or hangs"));
  CHECK(world.result->why.process == 3U);
  CHECK(world.actors[3].signals == std::vector<int>{9});
}

TEST_CASE("who is stopped is never killed for that", "[silence]") {
  SmallWorld world{plan({10s, true})};
  world.actors[3].sight = Sight::stopped;
  run(world, 20s, 60s, 100s);
  REQUIRE(world.result);
  CHECK(world.result->signal == 15);
  CHECK(world.said_anywhere("process 3 on n01 is stopped by a signal, and has not served its socket for 10 s",
                            Tone::info));
  CHECK(world.said_anywhere("process 3 on n01 serves its socket again"));
  CHECK(world.looks == 4);
}

TEST_CASE("who is debugged, and who is not read, is told at no time", "[silence]") {
  SmallWorld world{plan({10s, true})};
  world.actors[3].sight = GENERATE(Sight::traced, Sight::unread);
  run(world, 20s, 60s, 100s);
  REQUIRE(world.result);
  CHECK(world.result->signal == 15);
  CHECK_FALSE(world.said_anywhere("socket"));
}

TEST_CASE("patience is two pings of Charm++ at least, and nobody is looked at where none is wanted",
          "[silence]") {
  SmallWorld world{plan({GENERATE(Duration{0s}, Duration{100ms})})};
  run(world, 1000s, 1000s, 50s);
  CHECK(world.looks == 0);
  CHECK_FALSE(world.said_anywhere("socket"));
}

TEST_CASE("a suspended job has no silence", "[silence]") {
  SmallWorld world{plan({10s})};
  world.at(21s, [&world] { world.user_signal(20); });
  world.at(51s, [&world] { world.user_signal(18); });
  run(world, 21s, 53s, 70s);
  CHECK_FALSE(world.said_anywhere("socket"));
}

}  // namespace charmtree::node_silence_test
