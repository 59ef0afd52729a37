// SPDX-License-Identifier: Apache-2.0
#include "tree/job/decision.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/four_hosts.hpp"
#include "tree/base/exit_status.hpp"
#include "tree/base/signals.hpp"

namespace charmtree::decision_test {

using namespace charmtree::proto;

namespace {

struct Job {
  wire::JobSpec spec;
  std::vector<Host> hosts = test::four_hosts();
  LaunchState launch{spec, hosts};
  Decision decision{spec, launch};
  const Verdict& verdict() const { return decision.verdict().value(); }
};

}  // namespace

TEST_CASE("the first cause decides; a run's verdict may be followed by the job's", "[decision]") {
  Job job;
  CHECK_FALSE(job.decision.verdict());
  job.decision.restarted(3, 2);
  job.decision.decide(failure(7, "n1: it failed"));
  job.decision.time_limit_reached();
  CHECK(job.verdict().status == 7);
  CHECK(job.verdict().why.how == "n1: it failed");
  CHECK(job.verdict().why.restarted.at(3) == 2);
  job.decision.reopen();
  CHECK_FALSE(job.decision.verdict());
  job.decision.time_limit_reached();
  CHECK(job.verdict().status == kTimeLimit);
}

TEST_CASE("a signal during the launch says how far that was", "[decision]") {
  Job job;
  job.launch.answered({0}, {}, Instant{100s});
  job.decision.interrupted(signals::kTerminate);
  CHECK(job.verdict().lines ==
        std::vector<std::string>{"Terminated: ending the job during the launch (1 of 4 hosts are up)"});
  CHECK(job.verdict().end.mode == wire::EndMode::stop);
  job.decision.interrupted(signals::kTerminate);  // as from `timeout`
  CHECK(job.verdict().end.mode == wire::EndMode::stop);
  job.decision.interrupted(signals::kInterrupt);
  CHECK(job.verdict().end.mode == wire::EndMode::kill);
}

TEST_CASE("too few hosts: where the program is on none of them, that is the status", "[decision]") {
  Job job;
  const Error no_program{Errc::no_program, Phase::spawn, "no such program"};
  std::vector<wire::HostFailure> failed = {{0, no_program}, {1, no_program}, {2, no_program}};
  const bool all = GENERATE(false, true);
  if (all) failed.push_back({3, no_program});
  job.launch.answered({}, failed, Instant{100s});
  job.decision.too_few("no host is left");
  CHECK(job.verdict().status == (all ? kNotFound : kLauncherFailed));
  CHECK(job.verdict().lines.size() == 2);
  CHECK(job.verdict().why.how == "no host is left");
}

TEST_CASE("output that is lost makes of a good end a bad one", "[decision]") {
  Job job;
  job.decision.lose_output(2, "connection reset");
  CHECK_FALSE(job.decision.verdict());  // it is not decided by that
  CHECK_FALSE(job.decision.awaits_output());
  job.decision.nothing_to_run();
  CHECK(job.verdict().status == 0);
  CHECK(job.decision.awaits_output());
  job.decision.lose_output(2, "connection reset");
  CHECK(job.verdict().status == kLauncherFailed);
  CHECK(job.verdict().why.host == 2U);
}

TEST_CASE("what became of the others is told only if a process ended the job", "[decision]") {
  Job job;
  SECTION("a process") {
    job.decision.decide(failure(1, "n1: it failed", {Cause::exit, 0, 0}), 7);
    wire::ProcessExit killed{1, 0, 9};
    killed.asked = true;
    job.decision.ended(killed);
    CHECK(job.decision.aftermath() ==
          "the other 7 processes were ended because of that; process 1 had to be killed");
  }
  SECTION("the user") {
    job.decision.decide(failure(130, "interrupted", {Cause::user_signal}), 7);
    CHECK(job.decision.aftermath().empty());
  }
}

}  // namespace charmtree::decision_test
