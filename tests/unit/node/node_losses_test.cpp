// SPDX-License-Identifier: Apache-2.0
// Whole jobs that go on when processes and launchers are lost. Barriers of native programs: the simulator's
// world goes_on.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tests/unit/small_world.hpp"

namespace charmtree::node_losses_test {

using namespace charmtree::proto;
using namespace charmtree::test;

namespace {

constexpr Duration kRunning = 30s;  // between the two

/// Plain processes that say something at the beginning and at the end of a minute.
void run_a_minute(SmallWorld& world) {
  for (std::uint32_t i = 0; i < world.actors.size(); ++i) {
    world.actors[i].kind = Actor::Kind::plain;
    world.actors[i].life = 60s;
    world.actors[i].chunks = {fmt::format("{} begins\n", i), fmt::format("{} ends\n", i)};
  }
}

bool printed(const SmallWorld& world, std::uint32_t process, const char* what) {
  return ("\n" + world.out).find(fmt::format("\n{} {}\n", process, what)) != std::string::npos;
}

int times_printed(const SmallWorld& world, std::uint32_t process, const char* what) {
  const std::string line = fmt::format("\n{} {}\n", process, what), text = "\n" + world.out;
  int times = 0;
  for (std::size_t at = text.find(line); at != std::string::npos; at = text.find(line, at + 1)) ++times;
  return times;
}

std::string told(const SmallWorld& world) {
  wire::ProcessSet all;
  for (const Sent& each : world.sent) {
    const auto* lost = get_if<wire::Lost>(&each.message);
    if (lost == nullptr) continue;
    all.add_all(lost->processes);
  }
  return all.print();
}

}  // namespace

TEST_CASE("the others go on when a process is killed", "[losses]") {
  SmallWorld world{{.hosts = 4, .slots = {2}, .on_loss = wire::Recovery::go_on}};
  run_a_minute(world);
  world.at(kRunning, [&] { world.kill_process(5, 11); });
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 0);
  CHECK(world.said_anywhere("n02: run: process 5: killed by signal 11", Tone::error));
  CHECK(world.said_anywhere("1 of 8 processes was lost (5); the job went on without it", Tone::error));
  for (std::uint32_t process = 0; process < 8; ++process) {
    CHECK(printed(world, process, "begins"));
    CHECK(printed(world, process, "ends") == (process != 5));
  }
  CHECK(told(world) == "5");
  CHECK(world.result->why.lost.print() == "5");
  CHECK(world.alive() == 0);
}

TEST_CASE("a launcher anywhere is lost with its own processes alone, and a link with none", "[losses]") {
  for (const wire::Shape shape : {wire::Shape{1, 0}, {2, 0}, {0, 0}}) {
    for (std::uint32_t host = 0; host < 9; ++host) {
      for (const bool cut : {false, true}) {
        CAPTURE(shape.branching, host, cut);
        SmallWorld world{
            {.hosts = 9, .slots = {2}, .shape = shape, .seed = host, .on_loss = wire::Recovery::go_on}};
        run_a_minute(world);
        for (Actor& actor : world.actors) actor.outlives_launcher = true;
        world.at(kRunning, [&] { cut ? world.cut_link(host) : world.kill_launcher(host); });
        world.run();
        REQUIRE(world.result);
        const wire::ProcessSet& lost = world.result->why.lost;
        const bool all = lost.size() == 18;
        CHECK(world.result->status == (all ? 125 : 0));
        CHECK((all || told(world) == lost.print()));
        for (std::uint32_t process = 0; process < 18; ++process) {
          CHECK(times_printed(world, process, "begins") == 1);
          CHECK(times_printed(world, process, "ends") == (lost.contains(process) ? 0 : 1));
        }
        CHECK(lost.print() == (cut ? "" : fmt::format("{}-{}", 2 * host, 2 * host + 1)));
        CHECK(world.said_anywhere("going on without processes") == !cut);
        CHECK((!cut || world.said_anywhere("its launcher, which was cut off, is reached again")));
        CHECK(world.alive() == 0);
      }
    }
  }
}

TEST_CASE("a Charm++ program cannot go on, and says so when it registers", "[losses]") {
  SmallWorld world{{.hosts = 2, .on_loss = wire::Recovery::go_on}};
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 125);
  CHECK(world.said_anywhere("a Charm++ program cannot go on without a lost process", Tone::error));
}

TEST_CASE("input goes on to the others when one that got copies is lost", "[losses]") {
  SmallWorld world{{.hosts = 3, .input_to_all = true, .on_loss = wire::Recovery::go_on}};
  run_a_minute(world);
  world.user_input = std::string(1U << 20, 'x');
  const std::uint32_t host = GENERATE(0U, 2U);
  world.actors[host].deaf = true;  // it holds up the others
  world.at(kRunning, [&] { world.kill_launcher(host); });
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 0);
  CHECK(world.actors[1].input.size() == world.user_input.size());
  CHECK(world.actors[1].input_ended);
}

TEST_CASE("a child may lose its own processes alone", "[losses]") {
  SmallWorld world{{.hosts = 6, .shape = {2, 2}, .on_loss = wire::Recovery::go_on}};
  run_a_minute(world);
  world.at(kRunning, [&] {
    world.forge(0, wire::LinkLost{1, {Errc::link_lost, Phase::run, "forged"}, {{1, 4}}});
  });
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 0);
  CHECK(world.said_anywhere("spoke for hosts that it was not given", Tone::error));
  CHECK(told(world) == "0-2");
}

}  // namespace charmtree::node_losses_test
