// SPDX-License-Identifier: Apache-2.0
// Output of a whole job whose user does not read it for a while.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>

#include "tests/unit/small_world.hpp"
#include "tree/job/output_grants.hpp"
#include "tree/job/output_queue.hpp"

namespace charmtree::node_output_test {

using namespace charmtree::test;

namespace {

/// Far more than all windows and shares together.
constexpr std::uint32_t kLines = 2500;
constexpr std::size_t kLineSize = 2000;

Plan long_tree(std::uint64_t seed) {
  Plan plan;
  plan.hosts = 4;
  plan.shape = {1, 0};
  plan.seed = seed;
  return plan;
}

void print_much(SmallWorld& world) {
  for (Actor& actor : world.actors) {
    actor.lines = kLines;
    actor.line_size = kLineSize;
  }
}

/// Of one process, as far as they are in order.
std::vector<std::string> lines_of(const SmallWorld& world, std::uint32_t process) {
  std::vector<std::string> lines;
  std::istringstream text{world.out};
  const std::string mine = fmt::format("process {} line ", process);
  for (std::string line; std::getline(text, line);) {
    line.resize(line.find_last_not_of('.') + 1);
    if (line == mine + std::to_string(lines.size())) lines.push_back(line);
  }
  return lines;
}

std::size_t credits_of(const SmallWorld& world) {
  return static_cast<std::size_t>(std::count_if(world.sent.begin(), world.sent.end(), [](const Sent& sent) {
    return holds_alternative<wire::OutputCredit>(sent.message);
  }));
}

}  // namespace

TEST_CASE("a reader that stops holds up nothing but output, and gets all of it", "[node][output]") {
  SmallWorld world{long_tree(GENERATE(1, 2, 3))};
  print_much(world);
  world.reader_stops = 0s;
  world.reader_goes_on = 100s;
  bool all_gone = false;
  world.at(50s, [&] {
    all_gone = std::none_of(world.actors.begin(), world.actors.end(), [](const Actor& a) { return a.alive; });
  });
  world.run();
  CHECK(all_gone);  // the processes, which have passed their barriers and ended
  REQUIRE(world.result);
  CHECK(world.result->status == 0);
  CHECK(world.result_at > 100s);
  CHECK(world.result_at < 110s);
  CHECK(world.alive() == 0);
  CHECK(credits_of(world) > 0);
  for (std::uint32_t i = 0; i < 4; ++i) {
    CHECK(world.actors[i].entered == world.actors[i].barriers);
    CHECK(lines_of(world, i).size() == kLines);
  }
  CHECK_FALSE(world.said_anywhere("did not confirm"));
}

TEST_CASE("a job that has ended well fails if a launcher is lost before its output has come",
          "[node][output]") {
  SmallWorld world{long_tree(7)};
  print_much(world);
  world.reader_stops = 0s;
  world.reader_goes_on = 100s;
  SECTION("whose host is gone") {
    world.at(50s, [&] { world.kill_launcher(2); });
  }
  SECTION("whose link is reset") {
    world.at(50s, [&] { world.cut_link(2); });
  }
  world.run();
  REQUIRE(world.result);
  CHECK(lines_of(world, 2).size() < kLines);
  CHECK(world.result->status == 125);
  CHECK(world.said_anywhere("n02: ", proto::Tone::error));
  CHECK(world.said_anywhere("its processes had ended, but of what they have printed the rest may be missing",
                            proto::Tone::error));
}

TEST_CASE("who interrupts twice does not wait for what nobody reads", "[node][output]") {
  SmallWorld world{long_tree(4)};
  print_much(world);
  world.reader_stops = 1s;
  world.reader_goes_on = 1000s;
  world.at(50s, [&] { world.user_signal(2); });
  world.at(51s, [&] { world.user_signal(2); });
  world.run();
  REQUIRE(world.result);
  CHECK(world.result_at < 56s);
  CHECK(world.alive() == 0);
}

TEST_CASE("a job that fails waits for its output only while somebody reads it", "[node][output]") {
  SmallWorld world{long_tree(5)};
  print_much(world);
  world.actors[2].fate = Actor::Fate::aborts;
  for (const std::uint32_t i : {0, 1, 3}) world.actors[i].fate = Actor::Fate::stays;
  SECTION("all of it, if it is read") {
    world.run();
    CHECK(lines_of(world, 2).size() == kLines);
  }
  SECTION("in bounded time, if it is not") {
    world.reader_stops = 100ms;
    world.reader_goes_on = 1000s;
    world.run();
    CHECK(world.result_at < 20s);
  }
  REQUIRE(world.result);
  CHECK(world.result->status == 1);
  CHECK(world.alive() == 0);
  CHECK_FALSE(world.said_anywhere("did not confirm"));
}

TEST_CASE("plain processes are not read while nobody reads them", "[node][output]") {
  SmallWorld world{long_tree(6)};
  for (Actor& actor : world.actors) {
    actor.kind = Actor::Kind::plain;
    actor.chunks.assign(240, std::string(65535, 'x') + "\n");
  }
  world.reader_stops = 100ms;
  world.reader_goes_on = 50s;
  world.run();
  REQUIRE(world.result);
  CHECK(world.pauses > 0);
  CHECK(world.out.size() == 4U * 240 * 65536);
}

TEST_CASE("a launcher that sends more output than it may is given up", "[node][output]") {
  SmallWorld world{long_tree(8)};
  for (Actor& actor : world.actors) actor.fate = Actor::Fate::stays;
  world.reader_stops = 0s;
  world.reader_goes_on = 1000s;
  world.at(3s, [&] {
    const wire::Output much{0, 1, false, std::string(1U << 20, 'x') + "\n", wire::Tail::waited, kNever};
    for (std::size_t sent = 0; sent <= 2 * proto::OutputGrants::kMost; sent += much.text.size())
      world.forge(0, much);
  });
  world.run();
  REQUIRE(world.result);
  CHECK(world.said_anywhere("its launcher sent more output than it may"));
}

TEST_CASE("a program may scan as often as it likes", "[node][output]") {
  Plan plan = long_tree(1);
  plan.input_process = wire::kNoProcess;
  SmallWorld world{plan};
  world.actors[3].scan_format = "%d";
  world.actors[3].scans = 10000;  // more than the credit of any queue, if it did not come back
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 0);
  CHECK(world.actors[3].scan_format.empty());
  CHECK(lines_of(world, 3).size() == 1);
}

}  // namespace charmtree::node_output_test
