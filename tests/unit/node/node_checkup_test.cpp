// SPDX-License-Identifier: Apache-2.0
// A launch without processes, as ++doctor makes it.
#include <catch2/catch.hpp>
#include <set>

#include "tests/unit/small_world.hpp"

namespace charmtree::node_checkup_test {

using namespace charmtree::proto;
using namespace charmtree::test;

namespace {

const Error kRefused{Errc::refused, Phase::connect, "connection refused", {}};
const Error kDenied{Errc::not_authorised, Phase::authenticate, "no key was accepted", {}};
const Error kNoPlace{Errc::no_directory, Phase::spawn, "no directory", {}};

std::set<std::uint32_t> examined(const SmallWorld& world) {
  std::set<std::uint32_t> hosts;
  for (const wire::Checkup& each : world.checkups) hosts.insert(each.host);
  return hosts;
}

std::size_t tries_of(const SmallWorld& world, std::uint32_t host) {
  return static_cast<std::size_t>(std::count_if(world.tries.begin(), world.tries.end(),
                                                [&](const Try& each) { return each.host == host; }));
}

}  // namespace

TEST_CASE("a checkup examines every host once, starts nothing and ends by itself") {
  for (const wire::Shape shape : {wire::Shape{9, 1}, {1, 2}, {2, 0}, {0, 0}}) {
    CAPTURE(shape.branching, shape.levels);
    SmallWorld world{{.hosts = 9, .slots = {2, 0, 1}, .shape = shape, .checkup = true}};
    world.run();
    REQUIRE(world.result);
    CHECK(world.result->status == 0);
    CHECK(world.checkups.size() == 9);
    CHECK(examined(world).size() == 9);
    CHECK(world.failures.empty());
    CHECK_FALSE(world.said_anywhere("started all node programs"));
    for (const Actor& actor : world.actors) CHECK_FALSE(actor.spawned);
    CHECK(world.result_at < 5s);
    CHECK(world.alive() == 0);
  }
}

TEST_CASE("the clocks of a checkup are mapped to the root's, whatever lies between") {
  SmallWorld world{{.hosts = 6, .shape = {1, 0}, .checkup = true}};  // a chain
  world.run();
  REQUIRE(world.checkups.size() == 6);
  // Here the wall clock is the world's own; the root's clock differs from it by one skew.
  const auto skew = [](const wire::Checkup& each) {
    return each.clock.time_since_epoch() - Duration{each.wall_ms};
  };
  for (const wire::Checkup& each : world.checkups)
    CHECK(std::chrono::abs(skew(each) - skew(world.checkups[0])) < 6 * 5ms);
}

TEST_CASE("in a checkup a login is made once, and not again by the root") {
  SmallWorld world{{.hosts = 5, .shape = {1, 2}, .checkup = true}};
  world.login = [](const Try& each) {
    Outcome outcome;
    if (each.host == 2) outcome.error = kRefused;
    if (each.host == 3) outcome.error = kDenied;
    return outcome;
  };
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 0);  // what it means is for the doctor to say
  for (std::uint32_t host = 0; host < 5; ++host) CHECK(tries_of(world, host) == 1);
  REQUIRE(world.failures.size() == 2);
  CHECK((world.failures[0].error == kRefused || world.failures[1].error == kRefused));
  CHECK(examined(world) == std::set<std::uint32_t>{0, 1, 4});
  CHECK(world.alive() == 0);
}

TEST_CASE("a host that is not ready for a job is examined all the same") {
  SmallWorld world{{.hosts = 3, .shape = {3, 1}, .checkup = true}};
  world.prepare = [](std::uint32_t host) { return host == 1 ? std::optional{kNoPlace} : std::nullopt; };
  world.run();
  REQUIRE(world.result);
  REQUIRE(world.failures.size() == 1);
  CHECK(world.failures[0].error == kNoPlace);
  CHECK(examined(world).size() == 3);
}

TEST_CASE("a launcher that is lost during a checkup is that host's failure, and nobody logs in to sweep") {
  SmallWorld world{{.hosts = 3, .shape = {3, 1}, .checkup = true}};
  world.login = [](const Try& each) { return Outcome{{}, each.host == 2 ? 2s : 50ms, {}}; };
  world.prepare = [&](std::uint32_t host) {
    if (host == 1) world.at(0ms, [&] { world.kill_launcher(1); });
    return std::nullopt;
  };
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 0);
  REQUIRE(world.failures.size() == 1);
  CHECK((world.failures[0].stamps.host == 1 && world.failures[0].error->code == Errc::link_lost));
  CHECK(examined(world) == std::set<std::uint32_t>{0, 2});
  CHECK(tries_of(world, 1) == 1);
  CHECK(world.alive() == 0);
}

TEST_CASE("a launcher that tells of a host of somebody else's, or in a job that is no checkup, is cut off") {
  const bool checkup = GENERATE(true, false);
  SmallWorld world{{.hosts = 3, .shape = {3, 1}, .checkup = checkup}};
  world.login = [](const Try& each) { return Outcome{{}, each.host == 2 ? 2s : 50ms, {}}; };
  wire::Checkup forged;
  forged.host = checkup ? 2 : 1;
  world.at(1s, [&] { world.forge(1, forged); });
  world.run();
  REQUIRE(world.result);
  CHECK(world.said_anywhere("spoke for hosts that it was not given") != checkup);
  if (checkup) {
    REQUIRE(world.failures.size() == 1);
    CHECK(world.failures[0].error->code == Errc::bad_peer);
  }
}

TEST_CASE("a launcher that hangs holds a checkup up for one and a half time-outs") {
  SmallWorld world{{.hosts = 3, .shape = {3, 1}, .checkup = true, .grace = 0ms}};
  world.prepare = [&](std::uint32_t host) {
    if (host == 1) world.at(0ms, [&] { world.freeze_launcher(1); });
    return std::nullopt;
  };
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 0);
  CHECK((world.result_at > 90s && world.result_at < 95s));
  CHECK(examined(world) == std::set<std::uint32_t>{0, 2});
}

}  // namespace charmtree::node_checkup_test
