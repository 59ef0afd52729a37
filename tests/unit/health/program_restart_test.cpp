// SPDX-License-Identifier: Apache-2.0
#include "health/program_restart.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/root_job.hpp"
#include "tree/base/signals.hpp"

namespace charmtree::program_restart_test {

using namespace charmtree::proto;
using namespace charmtree::test;
using Now = ProgramRestart::Now;

namespace {

/// A job of two hosts that run; what ends it is to be said.
struct Failed : RootJob {
  explicit Failed(const ProgramRestart::Rules& rules = {.most = 2}) : RootJob(2), restart(rules) {
    judge.begin(now);
    up({0, 1});
  }
  bool consider() { return restart.consider(*job, judge, now, now, out); }
  void fail() { judge.lost({.process = 1, .code = 3}, "it failed"); }
  Now turn(Duration later) { return restart.turn(bound, hosts, now + later, out); }
  OrphanBound bound{{250ms, 1s, 8s}};
  ProgramRestart restart;
};

}  // namespace

TEST_CASE("what the user has ended is not started again", "[restarts]") {
  Failed job;
  job.judge.decision().interrupted(signals::kInterrupt);
  CHECK_FALSE(job.consider());
  CHECK(job.out.empty());
}

TEST_CASE("a launch that fails is not started again, a loss of a host while all run is", "[restarts]") {
  Failed job;
  job.judge.refuse({Errc::link_lost, Phase::run, "gone", {}});
  CHECK_FALSE(job.consider());
  job.restart.lost_launcher();
  CHECK(job.consider());
}

TEST_CASE("a program is started again so often as is allowed", "[restarts]") {
  Failed job{{.most = 1}};
  job.fail();
  REQUIRE(job.consider());
  CHECK(job.said("restarting the job (1 of at most 1 times)"));
  CHECK(job.restart.restarts() == 1);
  job.restart = job.restart.next_run();
  CHECK_FALSE(job.restart.is_due());
  CHECK_FALSE(job.consider());
  CHECK(job.said("the job is not restarted: "));
}

TEST_CASE("a restart waits for launchers, and for what is not confirmed", "[restarts]") {
  Failed job;
  job.fail();
  REQUIRE(job.consider());
  CHECK(job.turn(1h) == Now::wait);
  job.restart.idle({{1}, {}}, job.bound, job.hosts, job.now, job.out);
  CHECK(job.said("h1: not confirmed that the job has ended there; waiting 10 s"));
  CHECK(job.restart.has_lost_launchers());
  CHECK(job.turn(job.bound.time() - 1ms) == Now::wait);
  SECTION("until the time has passed") {
    CHECK(job.turn(job.bound.time()) == Now::start);
  }
  SECTION("until it is confirmed") {
    job.restart.confirmed({1});
    CHECK(job.turn(0ms) == Now::start);
  }
  SECTION("unless it is cancelled") {
    CHECK(job.restart.cancel());
    CHECK_FALSE(job.restart.cancel());
    CHECK(job.turn(1h) == Now::wait);
  }
}

TEST_CASE("where nothing bounds how long processes are left, a restart is given up", "[restarts]") {
  Failed job;
  job.fail();
  REQUIRE(job.consider());
  const bool is_blind = GENERATE(true, false);
  if (is_blind) job.bound.blind({1});
  const std::set<std::uint32_t> unbounded = is_blind ? std::set<std::uint32_t>{} : std::set<std::uint32_t>{1};
  job.restart.idle({{1}, unbounded}, job.bound, job.hosts, job.now, job.out);
  CHECK(job.said("waiting at most 10 s"));
  CHECK(job.turn(job.bound.time()) == Now::give_up);
  CHECK(job.said("the job is not restarted: h1: its processes may still run there"));
  CHECK_FALSE(job.restart.is_due());
  CHECK(job.turn(1h) == Now::wait);
}

TEST_CASE("a fast failover waits for nobody", "[restarts]") {
  Failed job{{.most = 2, .fast_failover = true}};
  job.fail();
  REQUIRE(job.consider());
  job.restart.idle({{1}, {1}}, job.bound, job.hosts, job.now, job.out);
  CHECK(job.turn(0ms) == Now::start);
}

}  // namespace charmtree::program_restart_test
