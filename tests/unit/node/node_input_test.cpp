// SPDX-License-Identifier: Apache-2.0
// The user's stdin on its way to a process of one's choice, to all, or to none.
#include <catch2/catch.hpp>

#include "tests/unit/small_world.hpp"

namespace charmtree::node_input_test {

using namespace charmtree::proto;
using namespace charmtree::test;

namespace {

std::string long_text(std::size_t bytes) {
  std::string text(bytes, '.');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i * 7 % 26);
  return text;
}

/// 9 hosts in a chain of threes, two plain processes on each, which run for a while.
struct Readers : SmallWorld {
  explicit Readers(test::Plan plan) : SmallWorld(shaped(std::move(plan))) {
    for (Actor& actor : actors) {
      actor.kind = Actor::Kind::plain;
      actor.life = 100s;
    }
    user_input = long_text(1U << 20);
  }
  static test::Plan shaped(test::Plan plan) {
    plan.hosts = 9;
    plan.slots = {2};
    plan.shape = {2, 0};
    return plan;
  }
};

}  // namespace

TEST_CASE("stdin goes to the process of one's choice", "[input]") {
  Readers world{{.input_process = 11}};
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 0);
  for (std::size_t i = 0; i < world.actors.size(); ++i) {
    CHECK(world.actors[i].input == (i == 11 ? world.user_input : ""));
    CHECK(world.actors[i].input_ended == (i == 11));
  }
}

TEST_CASE("each process gets a copy, and no more is read than the slowest takes", "[input]") {
  Readers world{{.input_to_all = true}};
  SECTION("all take it") {
    world.run();
    for (const Actor& actor : world.actors) {
      CHECK(actor.input == world.user_input);
      CHECK(actor.input_ended);
    }
  }
  SECTION("one takes nothing, until it is gone") {
    world.actors[13].deaf = true;
    world.actors[13].life = 50s;
    world.run(49s);
    for (const Actor& actor : world.actors) CHECK(actor.input.size() == input::InputRoot::kWindow);
    world.run();
    for (const Actor& actor : world.actors) {
      if (!actor.deaf) CHECK(actor.input == world.user_input);
    }
  }
  CHECK(world.result->status == 0);
}

TEST_CASE("a scanf takes back the copy of the input process, and ends the others", "[input]") {
  SmallWorld world{{.hosts = 4, .slots = {2}, .shape = {1, 0}, .input_to_all = true}};
  // Its end is far, and process 0 has read nothing: a pipe and a launcher would hold no more than that.
  world.user_input = "12 34\n" + long_text(input::InputRoot::kMostTakenBack - 100);
  world.actors[5].scan_format = "%d %d";
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 0);
  CHECK(world.actors[5].scanned.starts_with("12 34"));
  for (std::size_t i = 1; i < world.actors.size(); ++i) CHECK(world.actors[i].input_ended);
}

TEST_CASE("nobody gets input: none is read, and a scanf is at its end", "[input]") {
  SmallWorld world{{.hosts = 4, .slots = {2}, .shape = {1, 0}, .input_process = wire::kNoProcess}};
  world.user_input = "12 34\nrest";
  world.actors[5].scan_format = "%d %d";
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 0);
  CHECK(world.actors[5].scan_format.empty());  // it has been answered
  CHECK(world.actors[5].scanned.empty());
  for (const Actor& actor : world.actors) CHECK(actor.input.empty());
  CHECK(world.reads == 0);
}

TEST_CASE("what is typed is read a line at a time, and no more when its reader is gone", "[input]") {
  Readers world{{.input_is_typed = true}};
  world.user_input = "";
  for (int i = 0; i < 10; ++i) world.user_input += "line " + std::to_string(i) + "\n";
  SECTION("it is read") {
    world.run();
    CHECK(world.actors[0].input == world.user_input);
    CHECK(world.reads == 10);
  }
  SECTION("it is not read") {
    world.actors[0].deaf = true;
    world.actors[0].life = 50s;
    world.run();
    CHECK(world.actors[0].input == "line 0\n");
    CHECK(world.reads == 1);
  }
}

TEST_CASE("a process that does not exist cannot get the input", "[input]") {
  Readers world{{.input_process = 18}};
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 125);
  CHECK(world.said_anywhere("there is no process 18 for the input: the job has 18", Tone::error));
  CHECK(world.tries.empty());
}

}  // namespace charmtree::node_input_test
