// SPDX-License-Identifier: Apache-2.0
// Tools beside the processes of whole jobs.
#include <catch2/catch.hpp>

#include "tests/unit/small_world.hpp"

namespace charmtree::node_tool_test {

using namespace charmtree::debug;
using namespace charmtree::proto;
using namespace charmtree::test;
using What = debug::ToolOrder::What;
using Said = debug::ToolSaid;

namespace {

constexpr std::uint64_t kTicket = 7;

debug::ToolOrder begin(std::uint32_t first, std::uint32_t last, bool has_input = true) {
  return {0, What::begin, has_input, 4096, {"cat"}, {}, {{first, last}}};
}
debug::ToolOrder input(std::string bytes, std::uint32_t first, std::uint32_t last) {
  return {0, What::input, false, 0, {}, std::move(bytes), {{first, last}}};
}

void stay(SmallWorld& world) {
  for (Actor& actor : world.actors) {
    actor.kind = Actor::Kind::plain;
    actor.life = 300s;
  }
}

/// What was said to that ticket, of such a kind: by first process.
std::map<std::uint32_t, std::string> heard_by(const SmallWorld& world, std::uint64_t ticket,
                                              Said::What what) {
  std::map<std::uint32_t, std::string> heard;
  for (const ToolHeard& each : world.tools) {
    if (each.ticket == ticket && !each.over && each.said.what == what)
      heard[each.said.which.front().first] += each.said.bytes;
  }
  return heard;
}

}  // namespace

TEST_CASE("there is a tool on each host of the processes, and no other", "[tools]") {
  SmallWorld world{{.hosts = 20, .slots = {2}}};
  stay(world);
  world.at(60s, [&] { world.run_tool_by(kTicket, begin(3, 9)); });
  world.at(61s, [&] { world.run_tool_by(kTicket, input("all", 3, 9)); });
  world.at(62s, [&] { world.run_tool_by(kTicket, input(" one", 4, 4)); });
  world.at(63s, [&] { world.run_tool_by(kTicket, input("", 3, 9)); });
  world.at(70s, [&] { world.user_signal(15); });
  world.run();
  using Map = std::map<std::uint32_t, std::string>;
  CHECK(heard_by(world, kTicket, Said::What::output) ==
        Map{{3, "all"}, {4, "all one"}, {6, "all"}, {8, "all"}});
  for (const auto each : {Said::What::started, Said::What::ended})
    CHECK(heard_by(world, kTicket, each) == Map{{3, ""}, {4, ""}, {6, ""}, {8, ""}});
  CHECK(heard_by(world, kTicket, Said::What::failed).empty());
}

TEST_CASE("who runs tools hears the job's end, and nobody else's tools", "[tools]") {
  SmallWorld world{{.hosts = 4, .slots = {2}}};
  stay(world);
  world.at(60s, [&] { world.run_tool_by(1, begin(0, 3)); });
  world.at(60s, [&] { world.run_tool_by(2, begin(4, 7, false)); });
  world.at(70s, [&] { world.user_signal(15); });
  world.run();
  CHECK(heard_by(world, 1, Said::What::ended).empty());
  CHECK(heard_by(world, 2, Said::What::ended).size() == 2);
  for (const std::uint64_t ticket : {1U, 2U}) {
    CHECK(std::count_if(world.tools.begin(), world.tools.end(),
                        [&](const ToolHeard& each) { return each.ticket == ticket && each.over; }) == 1);
  }
}

TEST_CASE("a tool whose launcher is lost has failed, and one whose host never came", "[tools]") {
  SmallWorld world{{.hosts = 4, .slots = {2}, .on_loss = wire::Recovery::go_on}};
  stay(world);
  world.at(60s, [&] { world.run_tool_by(1, begin(0, 7)); });
  world.at(61s, [&] { world.kill_launcher(2); });
  world.at(90s, [&] { world.run_tool_by(2, begin(0, 7)); });
  world.at(91s, [&] { world.run_tool_by(2, input("", 0, 7)); });
  world.at(95s, [&] { world.user_signal(15); });
  world.run();
  const auto first = heard_by(world, 1, Said::What::failed), second = heard_by(world, 2, Said::What::failed);
  REQUIRE(first.size() == 1);
  CHECK(first.begin()->second == "its launcher is lost");
  REQUIRE(second.size() == 1);
  CHECK(second.begin()->first == first.begin()->first);
  CHECK(heard_by(world, 2, Said::What::ended).size() == 3);
}

TEST_CASE("a launcher that loses its parent ends its tools, and those below", "[tools]") {
  SmallWorld world{{.hosts = 7, .slots = {2}, .shape = {2, 0}, .on_loss = wire::Recovery::go_on}};
  stay(world);
  world.at(60s, [&] { world.run_tool_by(1, begin(0, 13)); });
  world.at(61s, [&] { world.kill_launcher(1); });
  world.at(70s, [&] { world.run_tool_by(1, input("late", 0, 13)); });
  world.at(95s, [&] { world.user_signal(15); });
  world.run();
  std::size_t failed = 0;
  for (const auto& each : world.tools) {
    if (each.said.what != Said::What::failed) continue;
    for (const auto& range : each.said.which) failed += range.last - range.first + 1;
  }
  const std::size_t said = heard_by(world, 1, Said::What::output).size();
  CHECK((failed >= 2 && failed + 2 * said == 14));
}

}  // namespace charmtree::node_tool_test
