// SPDX-License-Identifier: Apache-2.0
#include "health/restarts_in_place.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/root_job.hpp"

namespace charmtree::restarts_in_place_test {

using namespace charmtree::proto;
using namespace charmtree::test;

namespace {

/// Three hosts with a process each, all up.
struct Restarts : RootJob {
  Restarts() : RootJob(plan()), part(job, hosts, {.old_life = 10s}) {
    judge.begin(now);
    up({0, 1, 2});
  }
  static RootPlan plan() {
    RootPlan plan = plan_of(3);
    plan.job.loss.recovery = wire::Recovery::in_place;
    plan.job.heartbeat.interval = 250ms;
    plan.job.timeout = 60s;
    return plan;
  }
  bool lose(std::uint32_t host, const std::set<std::uint32_t>& absent = {}) {
    Turn turn{*this};
    const wire::LinkLost lost{host, {Errc::link_lost, Phase::run, "gone", {}}, {}, false, {host}};
    return part.on(lost, absent, OrphanBound{job->heartbeat}, turn);
  }
  std::vector<wire::Restart> turn(const std::set<std::uint32_t>& absent = {}) {
    Turn turn{*this};
    return part.turn(absent, turn);
  }
  void crash(std::uint32_t process) { exits({.process = process, .code = 7, .restartable = true}); }
  RestartsInPlace part;
};

}  // namespace

TEST_CASE("a lost process is started again where it was, and others are told of it", "[restarts]") {
  Restarts fixture;
  fixture.crash(1);
  const auto restarts = fixture.turn();
  REQUIRE(restarts.size() == 1);
  CHECK(restarts[0].process == 1);
  CHECK(restarts[0].restarts == 1);
  CHECK(fixture.said("; restarting it"));
  REQUIRE(fixture.news.size() == 2);
  CHECK(get<ProcessReplaced>(fixture.news[0]).process == 1);
  const auto& told = get<Progress::ProcessRestart>(fixture.news[1]);
  CHECK(std::pair{told.process, told.host} == std::pair{1U, 1U});
  CHECK(fixture.turn().empty());
}

TEST_CASE("processes of a lost host go on elsewhere when nothing of them is left there", "[restarts]") {
  Restarts fixture;
  CHECK(fixture.lose(1));
  CHECK(fixture.said("h1: "));
  CHECK(fixture.part.is_absent(1));
  CHECK(fixture.turn().empty());
  const bool fenced = GENERATE(true, false);
  if (fenced)
    fixture.part.on(wire::Fenced{1});
  else
    fixture.now += 10s;
  const auto restarts = fixture.turn();
  REQUIRE(restarts.size() == 1);
  CHECK(restarts[0].process == 1);
  REQUIRE(only<wire::Moved>(fixture.everyone).size() == 1);
  CHECK(fixture.judge.places().host_of(1).index != 1);
  CHECK_FALSE(fixture.part.is_any_absent());
}

TEST_CASE("a loss that has been told before is none; one that leaves no host is for the judge",
          "[restarts]") {
  Restarts fixture;
  CHECK(fixture.lose(1, {0}));
  const auto said = fixture.lines().size();
  CHECK(fixture.lose(1, {0}));
  CHECK(fixture.lines().size() == said);
  CHECK_FALSE(fixture.lose(2, {0}));
}

TEST_CASE("hosts of Charm++ programs are lost with the job", "[restarts]") {
  Restarts fixture;
  wire::NodeTable table = fixture.table();
  for (wire::TupleBlock& block : table.blocks) block.tuples = {{1234, ""}};
  fixture.part.begin(std::move(table));
  CHECK_FALSE(fixture.lose(1));
}

}  // namespace charmtree::restarts_in_place_test
