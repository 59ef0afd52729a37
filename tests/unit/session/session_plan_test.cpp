// SPDX-License-Identifier: Apache-2.0
#include "charmrun/session/session_plan.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tests/unit/plans.hpp"

namespace charmtree::session_plan_test {

namespace {

/// Two hosts by ssh, the second with another login; none of them runs anything.
RootPlan tree() {
  RootPlan plan = test::plan_of(3);
  wire::JobSpec& job = plan.job;
  job.id = "0123456789abcdef";
  job.secret = std::string(32, 's');
  job.processes = 0;
  job.session = true;
  job.launch.on_host_failure = wire::OnHostFailure::spare;
  job.launch.batch = 7;
  job.heartbeat = {250ms, 1s, 8s};
  job.profiles.resize(2);
  job.profiles[1].user = "me";
  job.profiles[1].launcher = "/there/charmrun";
  for (Host& host : plan.hosts) host.processes = host.first_process = 0;
  plan.hosts[2].profile = 1;
  return plan;
}

/// As the user's own charmrun describes it.
RootPlan program() {
  RootPlan plan = test::plan_of(3);
  wire::JobSpec& job = plan.job;
  job.id = "fedcba9876543210";
  job.secret = std::string(32, 'x');
  job.arguments = {"./next", "1"};
  job.spawn.environment = {"A=b"};
  job.grace = 5s;
  job.reports.stamps = true;
  job.profiles.resize(2);
  for (Profile& profile : job.profiles) profile.program = "/here/next";
  job.profiles[1].directory = "/there";
  job.profiles[1].user = "nobody";
  job.profiles[1].launcher = "/mine/charmrun";
  plan.hosts[2].profile = 1;
  plan.hosts[2].processes = 0;
  plan.time_limit = 9s;
  plan.bad_exit = proto::BadExit::ends;
  return plan;
}

std::string refusal(const RootPlan& session, const session::Run& run) {
  const auto plan = plan_run(session, run);
  REQUIRE_FALSE(plan);
  CHECK(plan.error().code == Errc::bad_input);
  return plan.error().what;
}

}  // namespace

TEST_CASE("a run is the user's program on the session's hosts", "[session]") {
  const auto plan = plan_run(tree(), describe_run(program()));
  REQUIRE(plan);
  const wire::JobSpec& job = plan->job;
  CHECK(job.arguments == std::vector<std::string>{"./next", "1"});
  CHECK(job.spawn.environment == std::vector<std::string>{"A=b"});
  CHECK(job.grace == 5s);
  CHECK(job.id == tree().job.id);
  CHECK(job.secret == tree().job.secret);
  CHECK(job.launch == tree().job.launch);
  CHECK(job.heartbeat == tree().job.heartbeat);
  CHECK((job.session && !job.reports.stamps));
  CHECK(job.hosts == 3);
  CHECK(plan->processes == std::vector<std::uint32_t>{1, 1, 0});
  CHECK(plan->time_limit == 9s);
  CHECK(plan->bad_exit == proto::BadExit::ends);
  REQUIRE(job.profiles.size() == 2);
  CHECK(job.profiles[1].program == "/here/next");
  CHECK(job.profiles[1].directory == "/there");
  CHECK(job.profiles[1].user == "me");
  CHECK(job.profiles[1].launcher == "/there/charmrun");
}

TEST_CASE("hosts that the run does not tell apart may be logged in to in different ways", "[session]") {
  RootPlan run = program();
  run.hosts[2].profile = 0;
  const auto plan = plan_run(tree(), describe_run(run));
  REQUIRE(plan);
  CHECK(plan->job.profiles[1].directory == run.job.profiles[0].directory);
  CHECK(plan->job.profiles[1].user == "me");
}

TEST_CASE("a run for other hosts is refused", "[session]") {
  session::Run run = describe_run(program());
  SECTION("another name") {
    run.hosts[1].name = "other";
    CHECK(refusal(tree(), run) == "the run is for host other, the session has h1");
  }
  SECTION("another number") {
    run.hosts.pop_back();
    CHECK(refusal(tree(), run) == "the run is for 2 hosts, the session has 3");
  }
  SECTION("other options") {
    run.hosts[1].profile = 1;
    CHECK(refusal(tree(), run) == "h1: the options of its hosts are not the session's");
  }
  SECTION("options that there are not") {
    run.hosts[0].profile = 2;
    CHECK(refusal(tree(), run) == "h0: the options of its hosts are not the session's");
  }
}

TEST_CASE("what is no run is refused", "[session]") {
  const auto with = [](auto change) {
    RootPlan plan = program();
    change(plan);
    return describe_run(plan);
  };
  CHECK(refusal(tree(), with([](RootPlan& plan) {
                  for (Host& host : plan.hosts) host.processes = 0;
                })) == "a run cannot have 0 processes");
  CHECK(refusal(tree(), with([](RootPlan& plan) { plan.hosts[0].processes = wire::kMaxProcesses; })) ==
        fmt::format("a run cannot have {} processes", wire::kMaxProcesses + 1));
  CHECK(refusal(tree(), with([](RootPlan& plan) { plan.job.checkup = true; })) ==
        "a session cannot run that");
  CHECK(refusal(tree(), with([](RootPlan& plan) { plan.job.terminal.emplace(); })) ==
        "a session cannot run that");
  CHECK(refusal(tree(), with([](RootPlan& plan) { plan.job.arguments.clear(); })) ==
        "a session cannot run that");
  CHECK(refusal(tree(), with([](RootPlan& plan) { plan.job.loss.recovery = wire::Recovery::whole; })) ==
        "a session cannot run that");
  session::Run garbled = describe_run(program());
  garbled.job = std::make_shared<const std::string>("no job");
  CHECK_FALSE(plan_run(tree(), garbled));
}

TEST_CASE("a run that no launcher could be told of is refused before anybody is", "[session]") {
  RootPlan plan = program();
  plan.job.spawn.environment = {"A=" + std::string(15'000'000, 'a'), "B=" + std::string(15'000'000, 'b'),
                                "C=" + std::string(2'600'000, 'c')};
  const auto refused = plan_run(tree(), describe_run(plan));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("too large") != std::string::npos);
}

}  // namespace charmtree::session_plan_test
