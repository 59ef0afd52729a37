// SPDX-License-Identifier: Apache-2.0
#include "tree/job/progress_report.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/what_happened.hpp"

namespace charmtree::progress_report_test {

using namespace charmtree::proto;
using namespace charmtree::test;

namespace {

struct Report {
  std::vector<Progress> turn(JobStatus status = {}, std::vector<Progress::Failure> failures = {}) {
    Actions out;
    report.turn(std::move(status), std::move(failures), out);
    return only<Progress>(out);
  }
  ProgressReport report;
};

}  // namespace

TEST_CASE("progress is told when the status or anything else has changed, and once", "[progress]") {
  Report fixture;
  CHECK(fixture.turn().empty());
  JobStatus status;
  status.hosts_up = 1;
  CHECK(fixture.turn(status).size() == 1);
  CHECK(fixture.turn(status).empty());

  fixture.report.on(wire::Rejoined{.process = 3});
  auto told = fixture.turn(status);
  REQUIRE(told.size() == 1);
  CHECK(told[0].back == std::vector<std::uint32_t>{3});
  CHECK(told[0].status == status);
  CHECK(fixture.turn(status).empty());

  told = fixture.turn(status, {{2, 1, WayToEnd{}, "killed"}});
  REQUIRE(told.size() == 1);
  CHECK(told[0].failures.size() == 1);
  CHECK(told[0].back.empty());
  CHECK(fixture.turn(status).empty());
}

TEST_CASE("hosts that answer before processes have numbers have not started them", "[progress]") {
  Report fixture;
  wire::Facts facts;
  facts.hosts_up = {4};
  fixture.report.on(facts, false);
  CHECK(fixture.turn().empty());
  fixture.report.on(facts, true);
  const auto told = fixture.turn();
  REQUIRE(told.size() == 1);
  CHECK(told[0].hosts_up == std::vector<std::uint32_t>{4});
}

TEST_CASE("a refused process is told in the words of the refusal", "[progress]") {
  Report fixture;
  wire::Facts facts;
  facts.exits = {{.process = 1, .refused = true, .text = "no such program"}, {.process = 2, .code = 3}};
  fixture.report.on(facts, true);
  const auto told = fixture.turn();
  REQUIRE(told.size() == 1);
  REQUIRE(told[0].lost.size() == 2);
  CHECK(told[0].lost[0].how == "no such program");
  CHECK(told[0].lost[1].how != "");
}

}  // namespace charmtree::progress_report_test
