// SPDX-License-Identifier: Apache-2.0
#include "tree/job/start_report.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/root_job.hpp"

namespace charmtree::start_report_test {

using namespace charmtree::proto;
using namespace charmtree::test;

namespace {

struct Start : RootJob {
  explicit Start(std::uint32_t count, bool could_drop = false)
      : RootJob(count), report(job, hosts, could_drop) {
    judge.begin(now);
    report.begin(now);
  }
  StartReport report;
};

}  // namespace

TEST_CASE("hosts that are late are named once, and no more of them than fit", "[start_report]") {
  const std::uint32_t late = GENERATE(1U, StartReport::kMostLate, StartReport::kMostLate + 2);
  CAPTURE(late);
  Start start{late + 1, true};
  start.up({late});
  CHECK(start.report.next_deadline() == start.now + StartReport::kLateAfter);
  const Instant due = start.now + StartReport::kLateAfter;
  start.report.tell_late(start.judge, due - 1ms, start.out);
  CHECK(start.out.empty());
  start.report.tell_late(start.judge, due, start.out);
  start.report.tell_late(start.judge, due + 1s, start.out);
  REQUIRE(start.lines().size() == 1);
  CHECK(start.lines()[0].starts_with("after 10 s: "));
  CHECK(start.said(" and 2 more") == (late > StartReport::kMostLate));
  CHECK(start.said(late == 1 ? "would do without it" : "would do without them"));
  CHECK(start.report.next_deadline() == kNever);
}

TEST_CASE("nobody is late once all hosts are up, or at a checkup", "[start_report]") {
  Start start{2};
  start.up({0, 1});
  start.report.tell_late(start.judge, start.now, start.out);
  CHECK(start.report.next_deadline() == kNever);

  RootPlan plan = plan_of(2);
  plan.job.checkup = true;
  RootJob checkup{plan};
  StartReport report{checkup.job, checkup.hosts, false};
  report.begin(checkup.now);
  CHECK(report.begun_at() == checkup.now);
  CHECK(report.next_deadline() == kNever);
}

TEST_CASE("a launcher that is lost during the start is recorded once; behind it, it is no part of the start",
          "[start_report]") {
  Start start{2};
  const wire::LinkLost lost{1, {Errc::link_lost, Phase::run, "gone", {}}};
  start.report.on(lost, start.judge);
  start.report.on(lost, start.judge);
  start.report.record(start.now, start.out);
  start.report.record(start.now, start.out);
  REQUIRE(only<Record>(start.out).size() == 1);
  CHECK(only<Record>(start.out)[0].stamps.host == 1);

  start.up({0, 1}, 2);
  start.report.announce(StartReport::Protocol::charm, start.now, start.out);
  start.out.clear();
  start.report.on({0, lost.error}, start.judge);
  start.report.record(start.now, start.out);
  CHECK(start.out.empty());
}

TEST_CASE("the start is announced once, with a warning where address layouts differ", "[start_report]") {
  Start start{2};
  wire::Facts facts;
  facts.random_layout = {1};
  facts.hosts_failed = {{0, {}}};
  start.report.on(facts);
  CHECK(start.report.absent() == std::set<std::uint32_t>{0});
  start.report.announce(StartReport::Protocol::charm, start.now + 2s, start.out);
  start.report.announce(StartReport::Protocol::charm, start.now + 3s, start.out);
  REQUIRE(start.lines().size() == 2);
  CHECK(start.lines()[0] == "Charmrun> started all node programs in 2.000 seconds.");
  CHECK(start.lines()[1].starts_with("h1: warning: "));

  // The next run of the program knows what hosts were found to be.
  StartReport next{start.job, start.hosts, false};
  next.take_over(start.report);
  CHECK(next.absent() == std::set<std::uint32_t>{0});
  start.out.clear();
  next.announce(StartReport::Protocol::native, start.now, start.out);
  CHECK(start.lines().size() == 2);
}

TEST_CASE("what hosts call their processes is told as it comes, and once that these are all",
          "[start_report]") {
  Start start{2};
  CHECK_FALSE(start.report.tell_processes(start.judge.launch(), start.out));
  CHECK(start.out.empty());
  const auto tell = [&](std::uint32_t process, bool all) {
    wire::Facts facts;
    facts.process_ids = {{process, process, {100 + process}}};
    start.report.on(facts);
    CHECK(start.report.tell_processes(start.judge.launch(), start.out) == all);
    const auto& told = get<ProcessesKnown>(start.out.back());
    CHECK((told.ids == facts.process_ids && told.all == all && told.job == start.job));
  };
  tell(0, false);
  start.up({0, 1});
  tell(1, true);
  tell(0, false);  // another one in its place
}

}  // namespace charmtree::start_report_test
