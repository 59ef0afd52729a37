// SPDX-License-Identifier: Apache-2.0
// What the root says of a job that somebody looks at.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "tests/unit/small_world.hpp"

namespace charmtree::watched_test {

using namespace charmtree::proto;
using namespace charmtree::test;

namespace {

/// All that has been told, together.
struct Told {
  explicit Told(const SmallWorld& world) {
    for (const Progress& each : world.progress) {
      up.insert(each.hosts_up.begin(), each.hosts_up.end());
      for (const wire::HostFailure& host : each.hosts_lost) hosts_lost.insert(host.host);
      for (const wire::StartedBy& host : each.started_by) by[host.host] = host.by;
      for (const auto& [first, last] : each.ended) {
        for (std::uint32_t process = first; process <= last; ++process) CHECK(ended.insert(process).second);
      }
      for (const Progress::Loss& loss : each.lost) lost[loss.process] = loss.how;
    }
  }
  std::set<std::uint32_t> up, hosts_lost, ended;
  std::map<std::uint32_t, std::uint32_t> by;
  std::map<std::uint32_t, std::string> lost;
};

}  // namespace

TEST_CASE("who looks at a job learns who started whom, and how each process ended", "[watched]") {
  const auto kind = GENERATE(Actor::Kind::plain, Actor::Kind::charm);
  SmallWorld world{{.hosts = 6, .slots = {3}, .shape = {2, 2}, .watched = true}};
  for (Actor& actor : world.actors) actor.kind = kind;
  if (kind == Actor::Kind::plain) world.actors[7].code = 3;
  world.run();
  const Told told{world};
  CHECK(told.up.size() == 6);
  const std::map<std::uint32_t, std::uint32_t> tree = {{0, wire::kRootIndex}, {1, 0}, {2, 0},
                                                       {3, wire::kRootIndex}, {4, 3}, {5, 3}};
  CHECK(told.by == tree);
  CHECK(told.ended.size() + told.lost.size() == 18);
  if (kind == Actor::Kind::plain)
    CHECK(told.lost == std::map<std::uint32_t, std::string>{{7, "exited with status 3"}});
  CHECK(world.progress.back().status.stage == Stage::end);
}

TEST_CASE("who looks at a job learns of aborts and of hosts that are lost", "[watched]") {
  SmallWorld world{{.hosts = 2, .watched = true}};
  for (Actor& actor : world.actors) actor.fate = Actor::Fate::stays;
  SECTION("a process aborts") {
    world.actors[1].fate = Actor::Fate::aborts;
    world.run();
    CHECK(Told{world}.lost.at(1).starts_with("aborted: "));
  }
  SECTION("a launcher is lost") {
    world.at(20s, [&] { world.kill_launcher(1); });
    world.run();
    CHECK(Told{world}.hosts_lost == std::set<std::uint32_t>{1});
  }
}

namespace {
/// One that ends before it begins is no message at all.
bool is_range(const wire::Facts& facts) {
  return facts.who_ended.empty() || facts.who_ended.front().first <= facts.who_ended.front().last;
}
}  // namespace

TEST_CASE("a child may name its own processes and hosts alone", "[watched]") {
  wire::Facts stranger, across, backwards, not_its_host, not_its_parent;
  stranger.who_ended = {{4, 4}};
  across.who_ended = {{0, 5}};
  backwards.who_ended = {{1, 0}};
  not_its_host.started_by = {{4, 0}};
  not_its_parent.started_by = {{1, 3}};
  for (const wire::Facts& forged : {stranger, across, backwards, not_its_host, not_its_parent}) {
    SmallWorld world{{.hosts = 6, .shape = {2, 2}, .watched = true}};  // 1 and 2 are below 0, 4 and 5 below 3
    for (Actor& actor : world.actors) actor.fate = Actor::Fate::stays;
    world.at(20s, [&] { world.forge(0, forged); });
    world.run();
    REQUIRE(world.result);
    CHECK(world.result->status == 125);
    CHECK(world.said_anywhere(
        is_range(forged) ? "spoke for hosts that it was not given" : "broke the protocol", Tone::error));
  }
}

}  // namespace charmtree::watched_test
