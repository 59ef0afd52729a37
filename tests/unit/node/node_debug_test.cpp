// SPDX-License-Identifier: Apache-2.0
// Debugger sessions of whole jobs.
#include <catch2/catch.hpp>

#include "debug/answer_set.hpp"
#include "tests/unit/small_world.hpp"

namespace charmtree::node_debug_test {

using namespace charmtree::debug;
using namespace charmtree::proto;
using namespace charmtree::test;
using What = debug::DebugOrder::What;

namespace {

constexpr std::uint64_t kTicket = 7;

debug::DebugOrder order(std::uint32_t number, What what, std::uint32_t first, std::uint32_t last) {
  return {0, number, what, false, "print rank", {{first, last}}};
}

void stay(SmallWorld& world) {
  for (Actor& actor : world.actors) actor.fate = Actor::Fate::stays;
}

/// All that was heard by that ticket is of this session; what it was, and which orders were done.
struct Heard {
  AnswerSet all;
  std::vector<std::uint32_t> done;
  bool over = false;
};
Heard heard_by(const SmallWorld& world, std::uint64_t ticket) {
  Heard heard;
  for (const DebugHeard& each : world.debug) {
    if (each.ticket != ticket) continue;
    CHECK(!heard.over);
    heard.all.add(each.up.said);
    if (each.up.done != 0) heard.done.push_back(each.up.done);
    heard.over = each.over;
  }
  return heard;
}

}  // namespace

TEST_CASE("a prompt hears all processes as one", "[debug]") {
  SmallWorld world{{.hosts = 20, .slots = {2}}};
  stay(world);
  world.at(60s, [&] { world.debug_by(kTicket, order(1, What::begin, 0, 39)); });
  world.at(61s, [&] { world.debug_by(kTicket, order(2, What::command, 3, 6)); });
  world.at(62s, [&] { world.debug_by(kTicket, order(3, What::end, 0, 0)); });
  world.at(63s, [&] { world.debug_by(kTicket, order(4, What::command, 3, 6)); });
  world.at(70s, [&] { world.user_signal(15); });
  world.run();
  Heard heard = heard_by(world, kTicket);
  CHECK(heard.done == std::vector<std::uint32_t>{1, 2});
  CHECK(!heard.over);
  const debug::DebugAnswers all = heard.all.take();
  REQUIRE(all.answers.size() == 1);
  CHECK((shown(all.answers[0]) == "rank = {0..39}" && all.answers[0].processes == 44));
}

TEST_CASE("two prompts do not hear each other, and both hear the job's end", "[debug]") {
  SmallWorld world{{.hosts = 4, .slots = {2}}};
  stay(world);
  world.at(60s, [&] { world.debug_by(1, order(1, What::begin, 0, 3)); });
  world.at(60s, [&] { world.debug_by(2, order(1, What::begin, 4, 7)); });
  world.at(70s, [&] { world.user_signal(15); });
  world.at(71s, [&] { world.debug_by(3, order(1, What::begin, 4, 7)); });
  world.run();
  for (const std::uint64_t ticket : {1U, 2U}) {
    Heard heard = heard_by(world, ticket);
    CHECK((heard.over && heard.done == std::vector<std::uint32_t>{1}));
    const std::uint32_t lowest = ticket == 1 ? 0 : 4;
    for (const auto& answer : heard.all.take().answers)
      CHECK((answer.which.front().first >= lowest && answer.which.back().last <= lowest + 3));
  }
}

TEST_CASE("the processes of a launcher that is lost are told as gone", "[debug]") {
  SmallWorld world{{.hosts = 4, .slots = {2}, .on_loss = wire::Recovery::go_on}};
  stay(world);
  for (Actor& actor : world.actors) {
    actor.kind = Actor::Kind::plain;
    actor.life = 300s;
  }
  world.at(60s, [&] { world.debug_by(kTicket, order(1, What::begin, 0, 7)); });
  world.at(61s, [&] { world.kill_launcher(2); });
  world.at(62s, [&] { world.debug_by(kTicket, order(2, What::command, 0, 7)); });
  world.at(90s, [&] { world.user_signal(15); });
  world.run();
  Heard heard = heard_by(world, kTicket);
  CHECK(heard.done == std::vector<std::uint32_t>{1, 2});
  std::uint32_t gone = 0;
  for (const auto& answer : heard.all.take().answers)
    if (answer.kind == debug::DebugAnswer::Kind::gone) gone += answer.processes;
  CHECK(gone == 2);
}

TEST_CASE("no limit of the start counts while somebody debugs the job", "[debug]") {
  const bool is_debugged = GENERATE(true, false);
  SmallWorld world{{.hosts = 2, .slots = {2}}};
  for (std::size_t i = 1; i < world.actors.size(); ++i) world.actors[i].life = 200s;  // until it connects
  if (is_debugged) {
    world.at(5s, [&] { world.debug_by(kTicket, order(1, What::begin, 0, 3)); });
    world.at(190s, [&] { world.debug_by(kTicket, order(2, What::end, 0, 0)); });
  }
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == (is_debugged ? 0 : 125));
}

}  // namespace charmtree::node_debug_test
