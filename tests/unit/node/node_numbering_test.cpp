// SPDX-License-Identifier: Apache-2.0
// Jobs that can do without some hosts: who is left out, and that the numbers have no gaps.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <set>

#include "tests/unit/small_world.hpp"

namespace charmtree::node_numbering_test {

using namespace charmtree::proto;
using namespace charmtree::test;
using wire::OnHostFailure;

namespace {

const Error kRefused{Errc::refused, Phase::connect, "connection refused", "is sshd running there?"};
const Error kDenied{Errc::not_authorised, Phase::authenticate, "no key was accepted", ""};

std::vector<wire::Shape> shapes() {
  return {{0, 0}, {1, 0}, {2, 0}, {4, 2}, {26, 1}};
}

/// The hosts of the processes 0, 1, ... that were started.
std::vector<std::uint32_t> places(const SmallWorld& world) {
  std::vector<std::uint32_t> hosts;
  for (const Actor& actor : world.actors) {
    if (!actor.spawned) break;
    hosts.push_back(actor.host);
  }
  return hosts;
}

std::size_t started(const SmallWorld& world) {
  std::size_t count = 0;
  for (const Actor& actor : world.actors) count += actor.spawned ? 1 : 0;
  return count;
}

void no_answer_from(SmallWorld& world, std::set<std::uint32_t> hosts) {
  world.login = [hosts](const Try& each) {
    return hosts.contains(each.host) ? Outcome{{}, kForever, {}} : Outcome{};
  };
}

}  // namespace

TEST_CASE("drop: the job runs on the hosts that are left, whatever the tree", "[numbering]") {
  for (const wire::Shape shape : shapes()) {
    CAPTURE(shape.branching);
    SmallWorld world{{.hosts = 9, .slots = {2}, .shape = shape, .on_failure = OnHostFailure::drop}};
    world.login = [](const Try& each) {
      return each.host == 0 || each.host == 5 ? Outcome{kRefused, 0ms, {}} : Outcome{};
    };
    world.prepare = [](std::uint32_t host) -> std::optional<Error> {
      if (host != 7) return {};
      return Error{Errc::no_directory, Phase::spawn, "no directory"};
    };
    world.run();
    REQUIRE(world.result);
    CHECK(world.result->status == 0);
    CHECK(places(world) == std::vector<std::uint32_t>{1, 1, 2, 2, 3, 3, 4, 4, 6, 6, 8, 8});
    CHECK(started(world) == 12);
    CHECK(world.actors[11].table == world.actors[0].table);
    CHECK(world.said_anywhere("left out: n[00,05]: connect: connection refused", Tone::info));
    CHECK(world.said_anywhere("left out: n07: spawn: no directory", Tone::info));
    CHECK(world.said_anywhere("the job runs on 6 hosts, with 12 of 18 processes", Tone::info));
    CHECK(world.said_anywhere("the program ran without 3 of 9 hosts: n[00,05,07] (++on-host-failure drop)",
                              Tone::info));
    CHECK(world.alive() == 0);
  }
}

TEST_CASE("drop: a silent host is not waited for, and its login is discarded when it succeeds",
          "[numbering]") {
  for (const wire::Shape shape : shapes()) {
    CAPTURE(shape.branching);
    SmallWorld world{{.hosts = 9, .shape = shape, .on_failure = OnHostFailure::drop}};
    for (Actor& actor : world.actors) actor.life = 10s;
    world.login = [](const Try& each) { return each.host == 4 ? Outcome{{}, 8s, {}} : Outcome{}; };
    Duration begun = kForever;
    world.at(6s, [&] { begun = started(world) == 8 ? 6s : kForever; });
    world.run();
    REQUIRE(world.result);
    CHECK(world.result->status == 0);
    CHECK(begun == 6s);
    CHECK(started(world) == 8);
    CHECK(world.said_anywhere("left out: n04: connect: silent for too long; see ++host-patience"));
    CHECK(world.alive() == 0);
  }
}

TEST_CASE("drop: a process is told with its host, wherever the dropped hosts are", "[numbering]") {
  const std::uint32_t process = GENERATE(range(0U, 7U));
  SmallWorld world{{.hosts = 9, .on_failure = OnHostFailure::drop}};
  no_answer_from(world, {4, 5});
  world.actors[process].fate = Actor::Fate::aborts;
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 1);
  CHECK(world.said_anywhere(
      fmt::format("n{:02}: run: process {}: aborted", world.actors[process].host, process), Tone::error));
}

TEST_CASE("drop: without any host there is no job", "[numbering]") {
  SmallWorld world{{.hosts = 3, .on_failure = OnHostFailure::drop}};
  no_answer_from(world, {0, 1, 2});
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 125);
  CHECK(world.said_anywhere("n[00-02]: connect: silent", Tone::error));
  CHECK(world.said_anywhere("0 of 3 hosts are left, the job needs 1", Tone::error));
}

TEST_CASE("spare: spares take the places of those that fail, in order", "[numbering]") {
  const wire::Shape shape =
      GENERATE(wire::Shape{0, 0}, wire::Shape{1, 0}, wire::Shape{2, 0}, wire::Shape{26, 1});
  CAPTURE(shape.branching);
  SmallWorld world{
      {.hosts = 9, .slots = {2}, .shape = shape, .on_failure = OnHostFailure::spare, .spares = 3}};
  SECTION("two fail") {
    no_answer_from(world, {1, 6});
    world.run();
    REQUIRE(world.result);
    CHECK(world.result->status == 0);
    CHECK(places(world) == std::vector<std::uint32_t>{0, 0, 2, 2, 3, 3, 4, 4, 5, 5, 7, 7});
    CHECK_FALSE(world.said_anywhere("", Tone::error));
  }
  SECTION("none fails") {
    world.run();
    REQUIRE(world.result);
    CHECK(world.result->status == 0);
    CHECK(places(world) == std::vector<std::uint32_t>{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5});
  }
  SECTION("more fail than there are spares") {
    no_answer_from(world, {0, 2, 4, 8});
    world.run();
    REQUIRE(world.result);
    CHECK(world.result->status == 125);
    CHECK(started(world) == 0);
    CHECK(world.said_anywhere("5 of 9 hosts are left, the job needs 6; see ++spare-hosts", Tone::error));
  }
  CHECK(world.alive() == 0);
}

TEST_CASE("the user's input waits until process 0 has its place", "[numbering]") {
  SmallWorld world{{.hosts = 4, .on_failure = OnHostFailure::drop}};
  no_answer_from(world, {0});
  world.user_input = "hello\n";
  world.actors[0].scan_format = "%s";
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 0);
  CHECK(world.actors[0].host == 1);
  CHECK(world.actors[0].scanned == "hello");
}

TEST_CASE("++wait-hosts: names that do not resolve yet are tried until they do", "[numbering]") {
  for (const wire::Shape shape : shapes()) {
    SmallWorld world{{.hosts = 9, .shape = shape, .wait = 60s}};
    world.login = [](const Try& each) {
      if (each.host != 3 || each.at > 30s) return Outcome{};
      return Outcome{Error{Errc::no_such_host, Phase::resolve, "no such host"}, 0ms, {}};
    };
    world.run();
    REQUIRE(world.result);
    CHECK(world.result->status == 0);
    CHECK(world.result_at > 30s);
    CHECK(world.result_at < 36s);
  }
}

TEST_CASE("++wait-hosts: nobody is given up while a host may still come up", "[numbering]") {
  SmallWorld world{{.hosts = 3, .wait = 1000s}};
  world.login = [](const Try& each) {
    return each.host == 1 && each.at < 500s ? Outcome{kRefused, 0ms, {}} : Outcome{};
  };
  world.run(2000s);
  REQUIRE(world.result);
  CHECK(world.result->status == 0);
}

TEST_CASE("++wait-hosts has an end, and does not wait for what cannot come", "[numbering]") {
  SmallWorld world{{.hosts = 4, .wait = 20s}};
  Error error = kRefused;
  Duration least = 15s, most = 21s;
  SECTION("refused") {}
  SECTION("key refused") {
    error = kDenied;
    least = 0s;
    most = 2s;
  }
  world.login = [&](const Try& each) { return each.host == 1 ? Outcome{error, 0ms, {}} : Outcome{}; };
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 125);
  CHECK(world.result_at >= least);
  CHECK(world.result_at <= most);
}

}  // namespace charmtree::node_numbering_test
