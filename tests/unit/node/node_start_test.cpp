// SPDX-License-Identifier: Apache-2.0
// When processes start: not before every host has answered, unless each host may start its own at once. And
// what is said while a host is late.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/unit/small_world.hpp"

namespace charmtree::node_start_test {

using namespace charmtree::proto;
using namespace charmtree::test;

namespace {

constexpr std::uint32_t kBad = 5;  // this host is late, or fails

wire::Shape any_shape() {
  return GENERATE(wire::Shape{0, 0}, wire::Shape{1, 0}, wire::Shape{2, 0}, wire::Shape{26, 1});
}

std::size_t started(const SmallWorld& world) {
  return static_cast<std::size_t>(
      std::count_if(world.actors.begin(), world.actors.end(), [](const Actor& a) { return a.spawned; }));
}

void make_plain(SmallWorld& world) {
  for (Actor& actor : world.actors) actor.kind = Actor::Kind::plain;
}

void answer_late(SmallWorld& world, Duration after) {
  world.login = [after](const Try& each) { return each.host == kBad ? Outcome{{}, after, {}} : Outcome{}; };
}

const Error kRefused{Errc::refused, Phase::connect, "connection refused", "is sshd running there?"};

}  // namespace

TEST_CASE("no process starts before every host has answered, and then all do", "[start]") {
  const wire::Shape shape = any_shape();
  CAPTURE(shape.branching);
  const auto kind = GENERATE(Actor::Kind::plain, Actor::Kind::charm);
  SmallWorld world{{.hosts = 8, .slots = {2}, .shape = shape, .starts_together = true}};
  for (Actor& actor : world.actors) actor.kind = kind;
  answer_late(world, 6s);
  std::size_t early = 99;
  world.at(5900ms, [&] { early = started(world); });
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 0);
  CHECK(early == 0);
  CHECK(started(world) == 16);
  for (std::uint32_t i = 0; i < 16; ++i) CHECK(world.actors[i].host == i / 2);
  CHECK(world.alive() == 0);
}

TEST_CASE("nothing has run where a host cannot be started or made ready", "[start]") {
  const wire::Shape shape = any_shape();
  CAPTURE(shape.branching);
  SmallWorld world{{.hosts = 8, .shape = shape, .starts_together = true}};
  make_plain(world);
  std::string line = "n05: connect: connection refused";
  SECTION("its sshd refuses") {
    world.login = [](const Try& each) { return each.host == kBad ? Outcome{kRefused, 0ms, {}} : Outcome{}; };
  }
  SECTION("its program is missing") {
    line = "n05: spawn: no such file";
    world.prepare = [](std::uint32_t host) -> std::optional<Error> {
      if (host != kBad) return {};
      return Error{Errc::no_program, Phase::spawn, "no such file"};
    };
  }
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status != 0);
  CHECK(world.said_anywhere(line, Tone::error));
  CHECK(started(world) == 0);
  for (const wire::Stamps& stamps : world.stamps) CHECK(stamps.times[wire::Stamps::spawned] == kNever);
  CHECK(world.alive() == 0);
}

TEST_CASE("with an early start each host's processes begin when it is ready itself", "[start]") {
  SmallWorld world{{.hosts = 8}};
  make_plain(world);
  answer_late(world, 6s);
  std::size_t early = 0;
  world.at(5900ms, [&] { early = started(world); });
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 0);
  CHECK(early == 7);
}

TEST_CASE("a process that cannot be started after all ends the job, with all such hosts in one line",
          "[start]") {
  SmallWorld world{{.hosts = 8, .starts_together = true}};
  make_plain(world);
  for (const std::size_t process : {2U, 3U})
    world.actors[process].spawn_error = Error{Errc::spawn_failed, Phase::spawn, "no memory"};
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 125);
  CHECK(world.said_anywhere("n[02-03]: spawn: no memory (2 hosts)", Tone::error));
  CHECK(world.alive() == 0);
}

TEST_CASE("what is kept alive for another root has begun: without that nobody waits for one", "[start]") {
  SmallWorld world{{.hosts = 8, .keep_alive = 60s, .starts_together = true}};
  make_plain(world);
  answer_late(world, 30s);
  world.at(5s, [&] { world.kill_launcher(wire::kRootIndex); });
  world.run(20s);
  CHECK(started(world) == 0);
  CHECK(world.alive() == 0);
}

TEST_CASE("who is late is named once, with what would do without", "[start]") {
  const auto late_lines = [](const SmallWorld& world) {
    std::vector<std::string> lines;
    for (const Say& say : world.said) {
      if (say.text.starts_with("after ")) lines.push_back(say.text);
    }
    return lines;
  };
  Plan plan{.hosts = 8};
  plan.starts_together = GENERATE(false, true);
  Duration until = 15s;
  std::vector<std::string> expected{
      "after 10 s: launch: 7 of 8 hosts are up; not yet: n05; ++on-host-failure drop would do without it"};
  SECTION("one host") {}
  SECTION("nobody") {
    until = 5s;
    expected.clear();
  }
  SECTION("one that the job could do without") {
    plan.on_failure = wire::OnHostFailure::drop;
    expected = {
        "after 10 s: launch: 7 of 8 hosts are up; not yet: n05; ++host-patience and ++wait-hosts limit that"};
  }
  plan.wait = 30s;
  SmallWorld world{plan};
  make_plain(world);
  world.login = [until](const Try& each) {
    return each.host == kBad && each.at < until ? Outcome{kRefused, 0ms, {}} : Outcome{};
  };
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 0);
  CHECK(late_lines(world) == expected);
}

TEST_CASE("of very many that are late, some are named", "[start]") {
  SmallWorld world{{.hosts = 100, .shape = {100, 1}, .batch = 100}};
  make_plain(world);
  world.login = [](const Try& each) { return each.host % 2 == 0 ? Outcome{{}, 20s, {}} : Outcome{}; };
  world.run();
  CHECK(world.said_anywhere(
      "n[00,02,04,06,08,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40,42,44,46,48,50,52,54,"
      "56,58,60,62] and 18 more; ++on-host-failure drop would do without them"));
}

TEST_CASE("what is refused or comes before the first word harms nobody", "[start]") {
  Node node{1};
  Actions out;
  const Instant now{1s};
  node.on(SendRefused{kParentLink, kRefused}, now, out);
  node.on(LinkUp{kAdopterLink, {}, {}, {}}, now, out);
  node.on(LinkMessage{kAdopterLink, wire::Claim{}}, now, out);
  node.on(LinkMessage{kParentLink, wire::End{}}, now, out);
  node.on(LinkMessage{kParentLink, wire::Relaunch{}}, now, out);
  node.on(LeftoversKilled{}, now, out);
  for (const Action& action : out) CHECK(get<CloseLink>(action).link == kAdopterLink);
  CHECK(node.next_deadline() == now + Node::kFirstWord);
}

}  // namespace charmtree::node_start_test
