// SPDX-License-Identifier: Apache-2.0
#include "health/silence_report.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/root_job.hpp"

namespace charmtree::silence_report_test {

using namespace charmtree::proto;
using namespace charmtree::test;
using State = wire::Silence::State;

namespace {

struct Report : RootJob {
  Report() : RootJob(3), report(job, hosts) {}
  std::vector<std::string> turn() {
    out.clear();
    now = report.next_deadline();
    report.turn(judge, now, out);
    return lines();
  }
  SilenceReport report;
};

}  // namespace

TEST_CASE("silent processes are told with their hosts, and so is their end", "[silences]") {
  Report fixture;
  fixture.report.on({1, State::hung, 30s}, fixture.now);
  fixture.report.on({2, State::hung, 31s}, fixture.now);
  CHECK(fixture.report.count() == 2);
  auto lines = fixture.turn();
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].starts_with("processes 1-2 on h[1-2] have not served their sockets for 30 s"));
  CHECK(lines[0].ends_with("they compute or hang (++hang-after)"));
  fixture.report.on({1, State::over, 40s}, fixture.now);
  lines = fixture.turn();
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].starts_with("process 1 on h1 serves its socket again, after 40 s"));
  fixture.report.on({2, State::stopped, 50s}, fixture.now);
  lines = fixture.turn();
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find("is stopped by a signal, and has not served its socket for 50 s") != std::string::npos);
}

TEST_CASE("a hung process that is killed is told by its end alone", "[silences]") {
  Report fixture;
  fixture.job->silence.kills = true;
  fixture.report.on({1, State::hung, 30s}, fixture.now);
  CHECK(fixture.turn().empty());
}

TEST_CASE("who is silent when the end is decided is known behind it", "[silences]") {
  Report fixture;
  fixture.report.on({1, State::hung, 30s}, fixture.now);
  fixture.report.decided();
  fixture.report.gone({1, 1});
  CHECK(fixture.report.count() == 0);
  CHECK(fixture.report.at_end().contains(1));
}

}  // namespace charmtree::silence_report_test
