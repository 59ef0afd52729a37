// SPDX-License-Identifier: Apache-2.0
#include "tree/job/launch_state.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/four_hosts.hpp"
#include "tree/base/exit_status.hpp"

namespace charmtree::launch_state_test {

using namespace charmtree::proto;
using Names = std::vector<std::string>;

namespace {

constexpr Instant kNow{100s};
const Error kRefused{Errc::refused, Phase::connect, "connection refused"};
const Error kNoProgram{Errc::no_program, Phase::spawn, "no such program"};

/// Of a job whose processes are numbered at once, or late.
struct Start {
  enum class Numbers : std::uint8_t { at_once, late };
  explicit Start(Numbers numbers = Numbers::at_once) {
    job.processes = 8;
    job.timeout = 60s;
    job.starts_together = numbers == Numbers::late;
  }
  wire::JobSpec job;
  std::vector<Host> hosts = test::four_hosts();
};

}  // namespace

TEST_CASE("the launch is done when every host has answered, or has been given up", "[launch_state]") {
  const Start start;
  LaunchState launch{start.job, start.hosts};
  launch.begin({}, kNow);
  CHECK(launch.summary() == "0 of 4 hosts are up");
  launch.answered({0, 2}, {}, kNow);
  launch.answered({2}, {}, kNow);  // told twice, it is one
  CHECK(launch.unanswered() == Names{"n2", "n4"});
  JobStatus status;
  SECTION("all are up") {
    launch.answered({1, 3}, {}, kNow);
    CHECK(launch.all_up());
    launch.describe(status);
    CHECK((status.hosts == 4 && status.hosts_up == 4 && status.hosts_failed == 0));
  }
  SECTION("one has failed") {
    launch.answered({1}, {{3, kRefused}}, kNow);
    CHECK(launch.all_answered());
    CHECK_FALSE(launch.all_up());
    CHECK(launch.failed_hosts() == std::set<std::uint32_t>{3});
    launch.describe(status);
    CHECK((status.hosts == 4 && status.hosts_up == 3 && status.hosts_failed == 1));
  }
  CHECK(launch.next_deadline() == kNever);
}

TEST_CASE("hosts with equal errors are one line, and the first one's is the status", "[launch_state]") {
  const Start start;
  LaunchState launch{start.job, start.hosts};
  launch.begin({}, kNow);
  launch.answered({}, {{3, kRefused}, {1, kNoProgram}, {2, kRefused}}, kNow);
  CHECK(launch.failure_lines() ==
        Names{"n2: " + to_string(kNoProgram), "n[3-4]: " + to_string(kRefused) + " (2 hosts)"});
  CHECK(launch.failures().front().host == 1);
  CHECK(launch.failure_status() == kNotFound);
  CHECK_FALSE(launch.all_failed());
  launch.answered({}, {{0, kRefused}}, kNow);
  CHECK(launch.all_failed());
  CHECK(launch.failure_status() == kLauncherFailed);
}

TEST_CASE("whoever says nothing for long is given up; news of others gives it time", "[launch_state]") {
  const Start start;
  LaunchState launch{start.job, start.hosts};
  launch.begin({}, kNow);
  launch.answered({0, 1}, {}, kNow + 50s);
  CHECK(launch.next_deadline() == kNow + 50s + 3 * 60s);
  launch.stalled(true, kNow + 60s);  // nobody is late now
  CHECK(launch.next_deadline() == kNever);
  launch.stalled(false, kNow + 70s);
  CHECK(launch.next_deadline() == kNow + 70s + 3 * 60s);
  const std::vector<wire::HostFailure> silent = launch.give_up_silent();
  REQUIRE(silent.size() == 2);
  CHECK((silent[0].host == 2 && silent[1].host == 3));
  CHECK(silent[0].error.code == Errc::timed_out);
  CHECK(launch.all_answered());
  CHECK(launch.next_deadline() == kNever);
}

TEST_CASE("hosts that were given processes answer once more", "[launch_state]") {
  Start start{Start::Numbers::late};
  LaunchState launch{start.job, start.hosts};
  launch.begin({3}, kNow);
  launch.answered({0, 1}, {{2, kRefused}}, kNow);
  CHECK(launch.all_answered());
  CHECK_FALSE(launch.has_numbers());
  CHECK(launch.failed_hosts() == std::set<std::uint32_t>{2, 3});
  for (const std::uint32_t host : {1, 2, 3}) start.hosts[host].processes = 0;
  launch.numbered(kNow);
  CHECK_FALSE(launch.all_up());
  CHECK(launch.unanswered() == Names{"n1"});
  CHECK(launch.failed_hosts() == std::set<std::uint32_t>{3});  // of the others it has been said
  JobStatus status;
  launch.describe(status);
  CHECK((status.hosts == 1 && status.hosts_up == 0));  // of those that run something
  launch.answered({0}, {}, kNow);
  CHECK(launch.all_up());
}

TEST_CASE("processes are not late before all hosts have answered, nor while nobody reads", "[launch_state]") {
  const Start start;
  LaunchState launch{start.job, start.hosts};
  launch.begin({}, kNow);
  launch.answered({0, 1, 2}, {}, kNow);
  CHECK_FALSE(launch.limits_registrations());
  launch.gone(3);
  CHECK(launch.limits_registrations());
  launch.stalled(true, kNow);
  CHECK_FALSE(launch.limits_registrations());
}

TEST_CASE("another root has launched all of it", "[launch_state]") {
  Start start{Start::Numbers::late};
  start.hosts[3].processes = 0;
  LaunchState launch{start.job, start.hosts};
  launch.take_over();
  launch.begin({}, kNow);
  CHECK(launch.all_up());
  CHECK(launch.next_deadline() == kNever);
  JobStatus status;
  launch.describe(status);
  CHECK((status.hosts == 3 && status.hosts_up == 3));
}

}  // namespace charmtree::launch_state_test
