// SPDX-License-Identifier: Apache-2.0
#include "health/crash_restarts.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/root_job.hpp"

namespace charmtree::crash_restarts_test {

using namespace charmtree::proto;
using namespace charmtree::test;

namespace {

/// Two processes that have their table.
struct Crashes : RootJob {
  Crashes() : RootJob(plan()) {
    judge.begin(now);
    wire::Facts facts;
    facts.hosts_up = {0, 1};
    facts.registered = 2;
    facts.blocks = table().blocks;
    judge.on(std::move(facts), now);
    REQUIRE(judge.take_blocks());
  }
  static RootPlan plan() {
    RootPlan plan = plan_of(2);
    plan.job.loss.recovery = wire::Recovery::by_program;
    return plan;
  }
  void crash(std::uint32_t process) {
    exits({.process = process, .signal = 9, .registered = true, .restartable = true});
    turn();
  }
  void turn() {
    Turn turn{*this};
    part.turn(turn);
  }
  CrashRestarts part;
};

}  // namespace

TEST_CASE("a lost Charm++ process is started again, and everybody gets a table with its new tuple",
          "[crashes]") {
  Crashes fixture;
  fixture.part.begin(fixture.table(), 60s);
  fixture.crash(1);
  CHECK(fixture.said("; restarting it"));
  REQUIRE(fixture.news.size() == 1);
  CHECK(get<ProcessReplaced>(fixture.news[0]).process == 1);
  REQUIRE(fixture.told<wire::Restart>().size() == 1);
  CHECK(fixture.told<wire::Restart>()[0].process == 1);
  CHECK(fixture.part.next_deadline() == fixture.now + 60s);

  fixture.part.on(wire::Rejoined{.process = 1, .port = 99}, fixture.now);
  fixture.turn();
  REQUIRE(only<wire::Recover>(fixture.everyone).size() == 1);
  CHECK(only<wire::Recover>(fixture.everyone)[0].crashed == 1);
  CHECK_FALSE(fixture.judge.verdict());
}

TEST_CASE("one that does not register in time ends the job", "[crashes]") {
  Crashes fixture;
  fixture.part.begin(fixture.table(), 60s);
  fixture.crash(1);
  fixture.now += 60s;
  fixture.turn();
  REQUIRE(fixture.judge.verdict());
  CHECK(fixture.judge.verdict()->lines.at(0).find("has not registered within 60 s") != std::string::npos);
}

TEST_CASE("before there is a table nothing is started again", "[crashes]") {
  Crashes fixture;
  fixture.part.on(wire::Rejoined{.process = 1}, fixture.now);
  fixture.part.acked(1, 1, fixture.now);
  fixture.crash(1);
  CHECK(fixture.processes.empty());
  CHECK(fixture.everyone.empty());
  CHECK(fixture.part.next_deadline() == kNever);
}

}  // namespace charmtree::crash_restarts_test
