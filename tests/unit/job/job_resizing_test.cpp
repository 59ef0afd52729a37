// SPDX-License-Identifier: Apache-2.0
#include "tree/job/job_resizing.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/root_job.hpp"

namespace charmtree::job_resizing_test {

using namespace charmtree::proto;
using namespace charmtree::test;

namespace {

/// Two hosts with a process each, of a program that can be resized.
struct Resized : RootJob {
  Resized() : RootJob(plan()), part(job, hosts) {
    judge.begin(now);
    up({0, 1});
  }
  static RootPlan plan() {
    RootPlan plan = plan_of(2);
    plan.job.resizes = true;
    plan.job.timeout = 60s;
    plan.job.arguments = {"program"};
    return plan;
  }
  std::optional<JobResizing::Reshaping> turn() {
    Turn turn{*this};
    return part.turn(turn);
  }
  /// The list of hosts has so many now.
  void read(std::uint32_t count) {
    HostsRead event{plan_of(count).hosts, {Profile{}}};
    part.on(event, judge, now);
  }
  JobResizing part;
};

}  // namespace

TEST_CASE("a job grows when all that it has have come back", "[resizing]") {
  Resized fixture;
  fixture.part.on(wire::PesWanted{.pes = 3});
  CHECK_FALSE(fixture.turn());
  CHECK(only<ReadHosts>(fixture.out).size() == 1);
  fixture.part.on(wire::PesWanted{.pes = 4});  // it is being served
  fixture.read(3);
  CHECK(fixture.part.is_regrouping());
  CHECK_FALSE(fixture.turn());
  CHECK(only<wire::Regroup>(fixture.everyone).size() == 1);
  CHECK(only<Regrouping>(fixture.news).size() == 1);
  CHECK(fixture.part.next_deadline() == fixture.now + 60s);

  fixture.part.on(wire::Rejoined{.process = 0});
  CHECK_FALSE(fixture.turn());
  fixture.part.on(wire::Rejoined{.process = 1});
  const auto reshaping = fixture.turn();
  REQUIRE(reshaping);
  CHECK(reshaping->shares == std::vector<wire::Share>{{0, 0, 1}, {1, 1, 1}, {2, 2, 1}});
  REQUIRE(reshaping->joined.size() == 1);
  CHECK(reshaping->joined[0].name == "h2");
  CHECK(fixture.job->processes == 3);
  CHECK(fixture.job->arguments == std::vector<std::string>{"program", "+restart", "/dev/shm"});
  CHECK(only<wire::Regroup>(fixture.everyone).size() == 1);
  CHECK_FALSE(fixture.part.is_regrouping());
}

TEST_CASE("who neither comes back nor leaves in time ends the job", "[resizing]") {
  Resized fixture;
  fixture.part.on(wire::PesWanted{.pes = 1});
  fixture.turn();
  fixture.read(1);
  fixture.part.on(wire::Left{1});
  fixture.turn();
  fixture.now += 60s;
  CHECK_FALSE(fixture.turn());
  REQUIRE(fixture.judge.verdict());
  CHECK(fixture.judge.verdict()->lines.at(0).find("1 of 2 processes have neither come back nor left within "
                                                  "60 s") != std::string::npos);
}

TEST_CASE("PEs that make no whole processes are refused", "[resizing]") {
  Resized fixture;
  fixture.job->pes_per_process = 2;
  const std::uint32_t pes = GENERATE(0U, 3U);
  fixture.part.on(wire::PesWanted{.pes = pes});
  fixture.turn();
  CHECK(fixture.judge.verdict());
  CHECK(only<ReadHosts>(fixture.out).empty());
}

TEST_CASE("a program that is not built for it is not resized", "[resizing]") {
  Resized fixture;
  fixture.job->resizes = false;
  fixture.part.on(wire::PesWanted{.pes = 3});
  fixture.turn();
  CHECK(fixture.out.empty());
  fixture.read(3);  // that nobody has asked for
  CHECK_FALSE(fixture.part.is_regrouping());
}

}  // namespace charmtree::job_resizing_test
