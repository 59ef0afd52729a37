// SPDX-License-Identifier: Apache-2.0
#include "tree/job/numbering.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

#include "tests/unit/root_job.hpp"

namespace charmtree::numbering_test {

using namespace charmtree::proto;
using namespace charmtree::test;
using Narrow = Numbering::Narrow;

namespace {

/// Three hosts, with 1, 2 and 3 processes and without any number yet.
struct Numbered : RootJob {
  explicit Numbered(wire::OnHostFailure policy, Narrow narrow = Narrow::no)
      : RootJob(plan(policy)), numbering(job, hosts, narrow) {
    judge.begin(now);
    numbering.put_off();
  }
  static RootPlan plan(wire::OnHostFailure policy) {
    RootPlan plan = plan_of(3);
    for (Host& host : plan.hosts) host.processes = host.index + 1;
    plan.job.processes = 6;
    plan.job.launch.on_host_failure = policy;
    return plan;
  }
  /// These fail, and all others are there.
  std::vector<wire::Share> number(const std::vector<std::uint32_t>& failed) {
    wire::Facts facts;
    for (const std::uint32_t host : failed)
      facts.hosts_failed.push_back({host, {Errc::refused, Phase::connect, "refused", {}}});
    for (const Host& host : hosts) {
      if (std::find(failed.begin(), failed.end(), host.index) == failed.end())
        facts.hosts_up.push_back(host.index);
    }
    judge.on(facts, now);
    REQUIRE(judge.wants_numbers());
    Turn turn{*this};
    return numbering.number(turn);
  }
  using Shares = std::vector<wire::Share>;
  Numbering numbering;
};

}  // namespace

TEST_CASE("without the hosts that failed numbers have no gaps", "[numbering]") {
  Numbered job{wire::OnHostFailure::drop};
  CHECK(job.numbering.any_wanted());
  CHECK(job.hosts[2].processes == 0);
  CHECK(job.number({1}) == Numbered::Shares{{0, 0, 1}, {2, 1, 3}});
  CHECK(job.job->processes == 4);
  CHECK(job.said("left out: "));
  CHECK(job.said("the job runs on 2 hosts, with 4 of 6 processes"));
}

TEST_CASE("where the job may not be made smaller, too few hosts end it", "[numbering]") {
  const auto [narrow, hint] = GENERATE(table<Narrow, std::string>(
      {{Narrow::no, "; see ++spare-hosts"}, {Narrow::if_asked, "; see ++spare-hosts and ++shrink-ok"}}));
  Numbered job{wire::OnHostFailure::spare, narrow};
  CHECK(job.number({0}).empty());
  REQUIRE(job.judge.verdict());
  CHECK(job.judge.verdict()->lines.back() == "2 of 3 hosts are left, the job needs 3" + hint);
}

TEST_CASE("where it may, the first places are taken", "[numbering]") {
  Numbered job{wire::OnHostFailure::spare, Narrow::yes};
  CHECK(job.number({0}) == Numbered::Shares{{1, 0, 1}, {2, 1, 2}});
  CHECK_FALSE(job.judge.verdict());
}

TEST_CASE("the input is for a process that there is", "[numbering]") {
  Numbered job{wire::OnHostFailure::drop};
  job.job->input.process = 5;
  job.number({2});
  REQUIRE(job.judge.verdict());
  CHECK(job.judge.verdict()->lines.at(0).find("there is no process 5 for the input") != std::string::npos);
}

TEST_CASE("a session without a program has its tree, unless no host is left", "[numbering]") {
  RootPlan plan = plan_of(2);
  plan.job.session = true;
  plan.job.processes = 0;
  plan.job.launch.on_host_failure = wire::OnHostFailure::drop;
  for (Host& host : plan.hosts) host.processes = 0;
  RootJob job{plan};
  Numbering numbering{job.job, job.hosts, Narrow::no};
  numbering.put_off();
  CHECK_FALSE(numbering.any_wanted());
  job.judge.begin(job.now);
  const bool any = GENERATE(true, false);
  wire::Facts facts;
  facts.hosts_failed = {{0, {}}};
  if (any)
    facts.hosts_up = {1};
  else
    facts.hosts_failed.push_back({1, {}});
  job.judge.on(facts, job.now);
  RootJob::Turn turn{job};
  CHECK(numbering.number(turn).empty());
  REQUIRE(job.judge.verdict());
  CHECK((job.judge.verdict()->status == 0) == any);
}

}  // namespace charmtree::numbering_test
