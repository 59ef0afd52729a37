// SPDX-License-Identifier: Apache-2.0
// Whole jobs that go well: every shape of tree starts every host once, merges what comes up, and gives the
// same numbers to the same processes.
#include "tree/node/node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "tests/unit/rounds.hpp"
#include "tests/unit/small_world.hpp"
#include "tree/overlay/host_pool.hpp"

namespace charmtree::node_test {

using namespace charmtree::proto;
using namespace charmtree::test;

namespace {

/// Messages of one type, by (from, to).
template <class M>
std::map<std::pair<std::uint32_t, std::uint32_t>, int> count(const SmallWorld& world) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> counts;
  for (const Sent& each : world.sent) {
    if (holds_alternative<M>(each.message)) ++counts[{each.from, each.to}];
  }
  return counts;
}

/// Barrier entries as they came to a launcher's parent: messages and processes.
struct Barriers {
  int messages = 0;
  std::uint32_t entered = 0;
};
std::map<std::uint32_t, Barriers> barriers(const SmallWorld& world) {
  std::map<std::uint32_t, Barriers> all;
  for (const Sent& each : world.sent) {
    const auto* facts = get_if<wire::Facts>(&each.message);
    if (facts == nullptr || facts->barrier[0] == 0) continue;
    ++all[each.from].messages;
    all[each.from].entered += facts->barrier[0];
  }
  return all;
}

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end == std::string::npos ? text.size() : end + 1;
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::uint32_t depth(const SmallWorld& world) {
  std::uint32_t deepest = 0;
  for (const wire::Stamps& stamps : world.stamps) deepest = std::max(deepest, stamps.level);
  return deepest;
}

void check_started_once(const SmallWorld& world) {
  std::set<std::uint32_t> started;
  for (const auto& [ends, times] : count<wire::Welcome>(world)) {
    CHECK(times == 1);
    CHECK(started.insert(ends.second).second);
  }
  CHECK(started.size() == world.hosts().size());
}

void check_merged(const SmallWorld& world, std::uint32_t rounds) {
  const auto tables = count<wire::TableDown>(world);
  CHECK(tables.size() == world.hosts().size());
  CHECK(std::all_of(tables.begin(), tables.end(), [](const auto& each) { return each.second == 1; }));
  const auto entered = barriers(world);
  CHECK(entered.size() == world.hosts().size());
  CHECK(std::all_of(entered.begin(), entered.end(),
                    [&](const auto& each) { return each.second.messages == static_cast<int>(rounds); }));
}

void check_ended_well(const SmallWorld& world) {
  REQUIRE(world.result);
  CHECK(world.result->status == 0);
  CHECK(world.result->signal == 0);
  CHECK(world.alive() == 0);
  CHECK(count<wire::Done>(world).size() == world.hosts().size());
  CHECK_FALSE(world.said_anywhere("", Tone::error));
}

}  // namespace

TEST_CASE("every shape starts every host once and merges what comes up", "[node]") {
  const std::uint32_t step = rounds(5, 1);
  for (std::uint32_t hosts = 1; hosts <= 26; hosts += hosts < 11 ? 1 : step) {
    for (const wire::Shape shape : {wire::Shape{1, 0},
                                    {1, 3},
                                    {2, 0},
                                    {2, 1},
                                    {2, 2},
                                    {4, 0},
                                    {4, 2},
                                    choose_shape(hosts, 0, 0),
                                    {0, 0}}) {
      CAPTURE(hosts, shape.branching, shape.levels);
      SmallWorld world{
          {.hosts = hosts, .slots = {1, 3, 2}, .shape = shape, .seed = hosts * 7 + shape.branching}};
      world.run();
      check_ended_well(world);
      check_started_once(world);
      check_merged(world, 9);
      if (shape.levels != 0) CHECK(depth(world) <= shape.levels);
      CHECK(sorted_lines(world.out).size() == world.actors.size());
    }
  }
}

TEST_CASE("process numbers and the table do not depend on shape, transport or timing", "[node]") {
  const auto run = [](std::uint32_t hosts, wire::Shape shape, std::uint32_t batch, std::uint64_t seed) {
    auto world = std::make_unique<SmallWorld>(
        Plan{.hosts = hosts, .slots = {2, 1, 4}, .shape = shape, .batch = batch, .seed = seed});
    if (seed % 2 == 0) {
      world->login = [](const Try& each) {
        if (each.host % 3 == 0 && each.via == Via::ssh)
          return Outcome{Error{Errc::no_usable_key, Phase::authenticate, "no key"}, 0ms, {}};
        return Outcome{};
      };
    }
    world->run();
    return world;
  };
  const auto first = run(17, {0, 0}, 0, 1);
  check_ended_well(*first);
  for (const wire::Shape shape : {wire::Shape{0, 0}, {1, 0}, {2, 0}, {4, 0}, {17, 1}}) {
    for (const std::uint32_t batch : {0U, 1U, 3U}) {
      const auto other = run(17, shape, batch, 10 + batch + shape.branching);
      CAPTURE(shape.branching, batch);
      check_ended_well(*other);
      CHECK(sorted_lines(other->out) == sorted_lines(first->out));
      for (std::size_t i = 0; i < first->actors.size(); ++i) {
        CHECK(other->actors[i].own == i);
        CHECK(other->actors[i].host == first->actors[i].host);
        CHECK(other->actors[i].table == first->actors[i].table);
      }
    }
  }
}

TEST_CASE("the table names every process's port in its place", "[node]") {
  SmallWorld world{{.hosts = 5, .slots = {3}}};
  world.run();
  check_ended_well(world);
  const std::string& table = world.actors[4].table;
  REQUIRE(table.size() == 15 * 24);
  for (std::uint32_t i = 0; i < 15; ++i) {
    const auto high = static_cast<unsigned char>(table[i * 24 + 14]),
               low = static_cast<unsigned char>(table[i * 24 + 15]);
    CHECK(high * 256U + low == 1000 + i);
  }
}

TEST_CASE("K and D too small for the list: the last level widens and no host is left out", "[node]") {
  SmallWorld world{{.hosts = 20, .shape = {2, 2}}};
  world.run();
  check_ended_well(world);
  check_started_once(world);
  CHECK(depth(world) == 2);
  CHECK(widens({2, 2}, 20));
  const auto links = count<wire::Welcome>(world);
  const auto below_root = std::count_if(
      links.begin(), links.end(), [](const auto& each) { return each.first.first == wire::kRootIndex; });
  CHECK(below_root == 2);
}

TEST_CASE("endings are counted per process and the first code that is not 0 is the status", "[node]") {
  SmallWorld world{{.hosts = 7, .slots = {2}, .shape = {2, 0}}};
  world.actors[9].ending = 256 + 3;
  world.actors[9].life = 1ms;
  SECTION("the low byte") {}
  SECTION("no code is lost where another process sends 0") {
    world.actors[10].ending = 0;
  }
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 3);
  CHECK(world.alive() == 0);
  std::uint32_t ended = 0;
  for (const Sent& each : world.sent) {
    const auto* facts = get_if<wire::Facts>(&each.message);
    if (facts != nullptr && each.to == wire::kRootIndex) ended += facts->ended;
  }
  CHECK(ended == 14);
}

TEST_CASE("an ending with a code that has no low byte is 1", "[node]") {
  SmallWorld world{{.hosts = 2}};
  world.actors[1].ending = 256;
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 1);
}

TEST_CASE("plain programs: all output and the status of the first that failed", "[node]") {
  SmallWorld world{{.hosts = 9, .slots = {2}}};
  for (Actor& actor : world.actors) {
    actor.kind = Actor::Kind::plain;
    actor.chunks = {"one\ntw", "o\nthr", "ee"};
  }
  SECTION("all exit with 0") {
    world.run();
    check_ended_well(world);
  }
  SECTION("one after the other fails") {
    world.actors[12].code = 5;
    world.actors[12].life = 2s;
    world.actors[3].code = 3;
    world.actors[3].life = 1s;
    world.run();
    REQUIRE(world.result);
    CHECK(world.result->status == 3);
    CHECK(world.said_anywhere("n01: run: process 3: exited with status 3 (the first of 2 that failed)",
                              Tone::error));
  }
  CHECK(world.alive() == 0);
  // Lines are never torn; what has no newline comes as it is, at the end of its process.
  std::size_t ones = 0, twos = 0, threes = 0;
  for (std::size_t at = 0; (at = world.out.find("one\n", at)) != std::string::npos; ++at) ++ones;
  for (std::size_t at = 0; (at = world.out.find("two\n", at)) != std::string::npos; ++at) ++twos;
  for (std::size_t at = 0; (at = world.out.find("three", at)) != std::string::npos; ++at) ++threes;
  CHECK(ones == 18);
  CHECK(twos == 18);
  CHECK(threes == 18);
}

TEST_CASE("the lines of one process keep their order", "[node]") {
  SmallWorld world{{.hosts = 6, .shape = {2, 0}}};
  for (Actor& actor : world.actors) actor.lines = 50;
  world.run();
  check_ended_well(world);
  for (std::uint32_t process = 0; process < 6; ++process) {
    std::size_t last = 0;
    for (int line = 0; line < 50; ++line) {
      const std::size_t at = world.out.find(fmt::format("process {} line {}\n", process, line));
      REQUIRE(at != std::string::npos);
      CHECK(at >= last);
      last = at;
    }
  }
}

TEST_CASE("a note always says whose it is", "[node]") {
  SmallWorld world{{.hosts = 3, .shape = {1, 3}}};
  for (Actor& actor : world.actors) actor.fate = Actor::Fate::stays;
  world.at(5s, [&world] { world.forge(2, wire::Note{2, "error: all is lost", true}); });
  world.at(6s, [&world] { world.user_signal(2); });
  world.run();
  CHECK(world.said_anywhere("n02: error: all is lost", Tone::info));
  CHECK(std::none_of(world.said.begin(), world.said.end(),
                     [](const Say& say) { return say.text.starts_with("error: "); }));
}

TEST_CASE("stdin goes to process 0; a scanf takes back what is unread and reads from there", "[node]") {
  SmallWorld world{{.hosts = 4, .slots = {2}, .shape = {1, 0}}};
  world.user_input = "12 34\nrest";
  world.actors[5].scan_format = "%d %d";
  world.run();
  check_ended_well(world);
  CHECK(world.actors[5].scanned.starts_with("12 34"));
}

TEST_CASE("the same plan and seed give the same run, action by action", "[node]") {
  const auto run = [](std::uint64_t seed) {
    SmallWorld world{{.hosts = 13, .slots = {1, 2}, .shape = {3, 0}, .seed = seed}};
    world.login = [](const Try& each) {
      if (each.host % 4 == 1 && each.number == 1)
        return Outcome{Error{Errc::refused, Phase::connect, "refused"}, 0ms, {}};
      return Outcome{};
    };
    world.run();
    check_ended_well(world);
    return world.trace();
  };
  CHECK(run(5) == run(5));
  CHECK(run(5) != run(6));
}

TEST_CASE("start-up times come to the root in its own clock, whatever the launchers' clocks say", "[node]") {
  SmallWorld world{{.hosts = 9, .shape = {2, 0}}};
  world.run();
  check_ended_well(world);
  using S = wire::Stamps;
  const auto own_logins = std::erase_if(
      world.stamps, [](const wire::Stamps& stamps) { return stamps.times[S::prepared] == kNever; });
  CHECK(own_logins == 2);  // those of the root alone, which are recorded always
  REQUIRE(world.stamps.size() == 9);
  Instant earliest = kNever, latest{Duration::min()};
  for (const wire::Stamps& stamps : world.stamps) {
    const auto& times = stamps.times;
    for (const auto step :
         {S::begun, S::hello, S::prepared, S::spawned, S::registered, S::gathered, S::table}) {
      REQUIRE(times[step] != kNever);
      earliest = std::min(earliest, times[step]);
      latest = std::max(latest, times[step]);
    }
    CHECK(times[S::begun] < times[S::hello]);
    CHECK(times[S::hello] <
          times[S::prepared] + 10ms);  // joined from two clocks: half a round trip may be off
    CHECK(times[S::spawned] <= times[S::registered]);
    CHECK(times[S::registered] <= times[S::table]);
  }
  CHECK(latest - earliest < 5s);
}

TEST_CASE("the root's own logins are recorded without stamps, but not of a launch that fails", "[node]") {
  const auto records = [](std::uint32_t failing) {
    SmallWorld world{{.hosts = 9, .shape = {2, 0}, .stamps = false}};
    world.login = [=](const Try& each) {
      if (each.host == failing) return Outcome{Error{Errc::no_launcher, Phase::exec, "gone"}, 0ms, {}};
      return Outcome{};
    };
    world.run();
    std::erase_if(world.stamps, [](const auto& each) { return each.times[wire::Stamps::hello] == kNever; });
    return world.stamps;
  };
  const auto stamps = records(99);
  REQUIRE(stamps.size() == 2);
  for (const wire::Stamps& each : stamps) {
    CHECK(each.parent == wire::kRootIndex);
    CHECK(each.times[wire::Stamps::begun] < each.times[wire::Stamps::hello]);
  }
  CHECK(records(8).empty());
}

TEST_CASE("late binding shares hosts out by what logins are known to cost", "[node]") {
  const auto first_share = [](Duration occupancy, Duration latency) {
    SmallWorld world{{.hosts = 200, .login_occupancy = occupancy, .login_latency = latency}};
    world.run();
    check_ended_well(world);
    const auto first = std::find_if(world.sent.begin(), world.sent.end(), [](const Sent& sent) {
      return holds_alternative<wire::Assign>(sent.message);
    });
    REQUIRE(first != world.sent.end());
    return get<wire::Assign>(first->message).hosts.size();
  };
  const std::size_t soon = first_share(1s, 1s), never = first_share(500us, 10s);
  CHECK(never >= 3 * soon);  // those who are still on their way would help soon, or not at all
}

TEST_CASE("a window of logins is never exceeded", "[node]") {
  SmallWorld world{{.hosts = 20, .shape = {20, 1}, .batch = 3}};
  std::uint32_t begun = 0;
  world.login = [&](const Try&) {
    ++begun;
    return Outcome{{}, 100ms, {}};
  };
  world.at(150ms, [&] { CHECK(begun == 6); });
  world.at(250ms, [&] { CHECK(begun == 9); });
  world.run();
  check_ended_well(world);
}

}  // namespace charmtree::node_test
