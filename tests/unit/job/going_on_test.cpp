// SPDX-License-Identifier: Apache-2.0
#include "tree/job/going_on.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/four_hosts.hpp"
#include "tree/base/exit_status.hpp"

namespace charmtree::going_on_test {

using namespace charmtree::proto;

namespace {

const Error kClosed{Errc::link_lost, Phase::run, "connection reset"};

struct Job {
  Job() {
    spec.processes = 8;
    spec.loss.recovery = wire::Recovery::go_on;
  }
  /// What is said of the losses since the last call.
  std::vector<std::string> lines() {
    std::vector<std::string> lines;
    for (const Loss& loss : going_on.losses().take_news()) lines.push_back(loss.line);
    return lines;
  }
  wire::JobSpec spec;
  std::vector<Host> hosts = test::four_hosts();
  ProcessPlaces places{hosts};
  Registrations registrations{spec, hosts};
  ExitRecord exits{places, registrations};
  GoingOn going_on{{spec, hosts, places, registrations}, exits};
};

wire::ProcessExit killed(std::uint32_t process, bool registered) {
  wire::ProcessExit exit{process, 0, 9};
  exit.registered = registered;
  return exit;
}

}  // namespace

TEST_CASE("nobody goes on without one that others wait for in the table", "[going_on]") {
  Job job;
  const wire::LinkLost link{1, kClosed, {{2, 3}}};
  CHECK(job.going_on.goes_on_without(killed(3, false)));
  CHECK(job.going_on.goes_on_without(link));
  job.registrations.add({}, 3);
  CHECK_FALSE(job.going_on.goes_on_without(killed(3, false)));
  CHECK(job.going_on.goes_on_without(killed(3, true)));
  CHECK_FALSE(job.going_on.goes_on_without(link));
  job.registrations.resume_with_table();
  CHECK(job.going_on.goes_on_without(link));
  CHECK_FALSE(job.going_on.goes_on_without(
      wire::LinkLost{1, kClosed, {}, true}));  // it lives, and cannot do its work
  job.spec.loss.recovery = wire::Recovery::none;
  CHECK_FALSE(job.going_on.goes_on_without(link));
}

TEST_CASE("a lost process is told once, by whoever tells of it first", "[going_on]") {
  Job job;
  job.going_on.lose(killed(3, false));
  CHECK(job.exits.any_gone());
  job.going_on.lose(wire::LinkLost{1, kClosed, {{2, 5}}});
  job.going_on.lose(killed(2, false));
  CHECK(job.lines() ==
        std::vector<std::string>{
            "n2: run: process 3: killed by signal 9 (SIGKILL: Killed); was it killed for want of memory? "
            "see dmesg there; going on without it",
            "n2: run: connection reset; going on without processes 2,4-5, also those of n3, which it had "
            "started"});
  CHECK(job.going_on.losses().lost().print() == "2-5");
}

TEST_CASE("the job ends well with those that are left; if nobody is, by the first loss", "[going_on]") {
  Job job;
  SECTION("a host") {
    job.going_on.lose(wire::LinkLost{1, kClosed, {{2, 3}}});
    CHECK(job.going_on.verdict_at_end().status == 0);
    CHECK(job.going_on.verdict_at_end().why.lost.print() == "2-3");
    job.going_on.lose(wire::LinkLost{0, kClosed, {{0, 7}}});
    CHECK(job.going_on.verdict_at_end().status == kLauncherFailed);
    CHECK(job.going_on.verdict_at_end().why.host == 1U);
  }
  SECTION("a process") {
    job.going_on.lose(killed(3, true));
    job.going_on.lose(wire::LinkLost{0, kClosed, {{0, 7}}});
    CHECK(job.going_on.verdict_at_end().status == 137);
    CHECK(job.going_on.verdict_at_end().lines.back() == "all 8 processes were lost");
  }
}

TEST_CASE("losses that another root has told are the first cause here", "[going_on]") {
  Job job;
  CHECK_FALSE(job.going_on.first());
  job.going_on.resume(5, {});
  CHECK_FALSE(job.going_on.first());
  wire::ProcessSet lost;
  lost.add({2, 3});
  job.going_on.resume(5, lost);
  REQUIRE(job.going_on.first());
  CHECK(job.going_on.first()->status == kLauncherFailed);
  CHECK(job.going_on.losses().lost().print() == "2-3");
}

}  // namespace charmtree::going_on_test
