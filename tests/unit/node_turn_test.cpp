// SPDX-License-Identifier: Apache-2.0
// Single turns of a launcher, event by event, where the order of what it does matters.
#include <algorithm>
#include <catch2/catch.hpp>

#include "charmrun/node/node.hpp"

using namespace charmtree;
using namespace charmtree::proto;

namespace {

RootPlan make_plan(std::uint32_t hosts) {
  RootPlan plan;
  plan.job.id = "0123456789abcdef";
  plan.job.hosts = plan.job.processes = hosts;
  plan.job.profiles.resize(1);
  for (std::uint32_t i = 0; i < hosts; ++i) {
    Host host;
    host.index = host.first_process = i;
    host.name = "n" + std::to_string(i);
    host.processes = 1;
    plan.hosts.push_back(host);
  }
  return plan;
}

/// Time passes as little as the launcher asks for.
struct Bench {
  template <class... Arguments>
  explicit Bench(Arguments&&... arguments) : node(std::forward<Arguments>(arguments)...) {}

  void on(const Event& event) {
    out.clear();
    node.on(event, now, out);
  }
  void tick() {
    now = std::max(now, node.next_deadline());
    on(Tick{});
  }
  template <class A>
  std::size_t count() const {
    return static_cast<std::size_t>(
        std::count_if(out.begin(), out.end(), [](const Action& a) { return std::holds_alternative<A>(a); }));
  }

  Node node;
  Instant now{1s};
  Actions out;
};

}  // namespace

TEST_CASE("logins that are due come before the host's own processes", "[node]") {
  Bench bench{std::uint64_t{1}};
  RootPlan plan = make_plan(9);
  plan.job.launch.batch = 3;
  Host self = plan.hosts.back();
  plan.hosts.pop_back();
  self.processes = 6;
  bench.on(LinkMessage{kParentLink, wire::Welcome{wire::encode(plan.job), self, 1}});
  CHECK(bench.count<Prepare>() == 1);
  bench.on(LinkMessage{kParentLink, wire::Assign{plan.hosts}});
  bench.on(Prepared{1});
  std::size_t logins = bench.count<Login>(), spawns = 0;
  for (int turn = 0; turn < 20 && spawns < 6; ++turn) {
    CHECK(bench.node.next_deadline() != kNever);
    bench.tick();
    logins += bench.count<Login>();
    if (bench.count<Spawn>() > 0) CHECK(logins == 3);  // as many as may be at once
    CHECK(bench.count<Spawn>() <= HostProcesses::kSpawnsAtOnce);
    spawns += bench.count<Spawn>();
  }
  CHECK(logins == 3);
  CHECK(spawns == 6);
}

TEST_CASE("input for a process whose launcher has left goes nowhere", "[node]") {
  Bench bench{make_plan(2), std::uint64_t{1}};
  bench.on(Begin{});
  for (std::size_t logins = 0; logins < 2; logins += bench.count<Login>()) bench.tick();
  for (const LinkId link : {1U, 2U}) bench.on(LinkUp{link, {}, {}, {}});
  for (const LinkId link : {1U, 2U}) {
    wire::Facts facts;
    facts.hosts_up = {link - 1};
    bench.on(LinkMessage{link, facts});
  }
  REQUIRE(bench.count<ReadInput>() == 1);
  bench.on(UserSignal{2});
  bench.on(LinkMessage{1, wire::Done{}});

  bench.on(InputRead{"too late", false});

  CHECK(bench.out.empty());  // nor is more of it asked for
}
