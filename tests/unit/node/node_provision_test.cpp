// SPDX-License-Identifier: Apache-2.0
// Jobs whose processes are counted by the processors of their hosts: numbered late, host by host.
#include <catch2/catch.hpp>
#include <set>

#include "tests/unit/cpu_maps.hpp"
#include "tests/unit/small_world.hpp"

namespace charmtree::node_provision_test {

using namespace charmtree::proto;
using namespace charmtree::test;
using wire::OnHostFailure;

namespace {

const Error kRefused{Errc::refused, Phase::connect, "connection refused", "is sshd running there?"};
constexpr wire::Provision kPerCore{CpuUnit::core, 1, CpuUnit::none, false};
constexpr wire::Provision kAuto{CpuUnit::socket, 1, CpuUnit::pu, false};

/// Every third host has four cores, the others two.
CpuMap mixed(std::uint32_t host) {
  return host % 3 == 0 ? make_cpus(1, 4, 1) : make_cpus(1, 2, 1);
}

std::vector<std::uint32_t> places(const SmallWorld& world) {
  std::vector<std::uint32_t> hosts;
  for (const Actor& actor : world.actors) {
    if (actor.spawned) hosts.push_back(actor.host);
  }
  return hosts;
}

struct MixedWorld : SmallWorld {
  MixedWorld(const test::Plan& plan, std::size_t processes) : SmallWorld(plan) {
    cpus = mixed;
    actors.resize(processes);
  }
};

/// The I-tuple table's number of PEs in each process, at the last entry.
std::uint32_t pes_in(const std::string& table) {
  constexpr std::size_t kEntry = 24, kPes = 8;
  const char* at = table.data() + table.size() - kEntry + kPes;
  return static_cast<std::uint32_t>(static_cast<unsigned char>(at[3]));
}

}  // namespace

TEST_CASE("each host runs as many processes as it has cores, whatever the tree", "[provision]") {
  for (const wire::Shape shape :
       {wire::Shape{0, 0}, wire::Shape{1, 0}, wire::Shape{2, 0}, wire::Shape{7, 1}}) {
    CAPTURE(shape.branching);
    MixedWorld world{{.hosts = 5, .shape = shape, .provision = kPerCore}, 14};
    world.run();
    REQUIRE(world.result);
    CHECK(world.result->status == 0);
    CHECK(places(world) == std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 3, 3, 4, 4});
    CHECK(world.actors[13].table == world.actors[0].table);
    CHECK(world.said_anywhere("by the hosts' processors: 14 processes on 5 hosts, PEs in each: 1",
                              Tone::verbose));
    CHECK(world.alive() == 0);
  }
}

TEST_CASE("worker threads are counted by the hosts, too", "[provision]") {
  SmallWorld world{{.hosts = 3, .provision = kAuto}};
  world.cpus = [](std::uint32_t host) { return make_cpus(host + 1, 4, 2); };
  world.actors.resize(6);
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 0);
  CHECK(places(world) == std::vector<std::uint32_t>{0, 1, 1, 2, 2, 2});
  CHECK(pes_in(world.actors[5].table) == 7);
}

TEST_CASE("what the protocol cannot express ends the job with one line, before anything runs",
          "[provision]") {
  MixedWorld world{{.hosts = 4, .provision = kAuto}, 4};
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 125);
  CHECK(places(world).empty());
  CHECK(world.said_anywhere("different numbers of PEs (n[00,03]: 3, n[01-02]: 1)", Tone::error));
  CHECK(world.alive() == 0);
}

TEST_CASE("a host that fails ends a job that is counted by its hosts, before anything runs", "[provision]") {
  MixedWorld world{{.hosts = 4, .provision = kPerCore}, 12};
  world.login = [](const Try& each) { return each.host == 2 ? Outcome{kRefused, 0ms, {}} : Outcome{}; };
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 125);
  CHECK(places(world).empty());
  CHECK(world.said_anywhere("n02: connect: connection refused", Tone::error));
}

TEST_CASE("drop: the hosts that are left are counted", "[provision]") {
  MixedWorld world{{.hosts = 5, .on_failure = OnHostFailure::drop, .provision = kPerCore}, 14};
  world.login = [](const Try& each) { return each.host == 0 ? Outcome{kRefused, 0ms, {}} : Outcome{}; };
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 0);
  CHECK(places(world) == std::vector<std::uint32_t>{1, 1, 2, 2, 3, 3, 3, 3, 4, 4});
  CHECK(world.said_anywhere("the job runs on 4 hosts, with 10 processes", Tone::info));
}

TEST_CASE("spare: a spare counts by its own processors", "[provision]") {
  MixedWorld world{{.hosts = 4, .on_failure = OnHostFailure::spare, .spares = 1, .provision = kPerCore}, 12};
  SECTION("it is needed") {
    world.login = [](const Try& each) { return each.host == 1 ? Outcome{kRefused, 0ms, {}} : Outcome{}; };
    world.run();
    REQUIRE(world.result);
    CHECK(world.result->status == 0);
    CHECK(places(world) == std::vector<std::uint32_t>{0, 0, 0, 0, 2, 2, 3, 3, 3, 3});
  }
  SECTION("it is not") {
    world.run();
    REQUIRE(world.result);
    CHECK(world.result->status == 0);
    CHECK(places(world) == std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 2, 2});
  }
}

TEST_CASE("topologies of equal hosts are one on their way up", "[provision]") {
  SmallWorld world{{.hosts = 40, .shape = {6, 2}, .provision = kPerCore}};
  world.cpus = [](std::uint32_t) { return make_cpus(1, 2, 1); };
  world.actors.resize(80);
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 0);
  std::size_t told = 0, ranges = 0;
  for (const Sent& each : world.sent) {
    const auto* facts = get_if<wire::Facts>(&each.message);
    if (facts == nullptr || each.to != wire::kRootIndex) continue;
    for (const wire::HostTopology& topology : facts->topologies) {
      told += topology.hosts;
      ++ranges;
    }
  }
  CHECK(told == 40);
  CHECK(ranges < 40);
}

TEST_CASE("a launcher tells the processors of its own hosts only", "[provision]") {
  MixedWorld world{{.hosts = 3, .shape = {3, 1}, .provision = kPerCore}, 8};
  wire::Facts lie;
  lie.topologies.push_back({0, 2, {1, 100, 100}});
  for (Actor& actor : world.actors) actor.life = 10s;
  world.at(3s, [&] { world.forge(1, lie); });
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 125);
  CHECK(world.said_anywhere("n01: run: its launcher spoke for hosts that it was not given", Tone::error));
}

TEST_CASE("processes are bound in the order of their host, and it is told", "[binding]") {
  const bool late = GENERATE(false, true);
  CAPTURE(late);
  SmallWorld world{{.hosts = 3,
                    .slots = {2},
                    .on_failure = late ? OnHostFailure::drop : OnHostFailure::abort,
                    .bind = CpuUnit::core,
                    .report_bindings = true}};
  world.cpus = [](std::uint32_t host) { return make_cpus(1, host == 2 ? 1 : 2, 1); };
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 0);
  CHECK(world.actors[0].pus == CpuSet{0});
  CHECK(world.actors[1].pus == CpuSet{1});
  CHECK(world.actors[3].pus == CpuSet{1});
  CHECK(world.actors[5].pus == CpuSet{0});
  CHECK(world.said_anywhere("n[00-01]: processes 0-3: one each of cores 0-1 (PUs 0-1)", Tone::info));
  CHECK(world.said_anywhere("n02: process 5: core 0 (PU 0)", Tone::info));
}

TEST_CASE("nobody is bound unless it is asked for", "[binding]") {
  SmallWorld world{{.hosts = 1, .slots = {2}, .report_bindings = true}};
  world.cpus = [](std::uint32_t) { return make_cpus(1, 2, 1); };
  world.run();
  CHECK(world.actors[1].pus.empty());
  CHECK(world.said_anywhere("n00: processes 0-1: not bound", Tone::info));
}

}  // namespace charmtree::node_provision_test
