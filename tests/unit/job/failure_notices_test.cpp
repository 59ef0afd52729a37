// SPDX-License-Identifier: Apache-2.0
#include "tree/job/failure_notices.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/four_hosts.hpp"
#include "tree/job/judge.hpp"

namespace charmtree::failure_notices_test {

using namespace charmtree::proto;

namespace {

constexpr Instant kNow{100s};

/// Eight plain processes on four hosts, all started.
struct Court {
  Court() : judge(job, hosts) {
    job.processes = 8;
    job.hosts = 4;
    judge.begin(kNow);
    wire::Facts facts;
    facts.hosts_up = {0, 1, 2, 3};
    judge.on(facts, kNow);
  }
  void exits(std::vector<wire::ProcessExit> exits) {
    wire::Facts facts;
    facts.exits = std::move(exits);
    judge.on(facts, kNow);
  }
  wire::JobSpec job;
  std::vector<Host> hosts = test::four_hosts();
  Judge judge;
};

wire::ProcessExit plain(std::uint32_t process, std::uint8_t code) {
  return {process, code};
}

}  // namespace

TEST_CASE("a plain process that fails is reported at once, with its host and what would end the job",
          "[judge]") {
  Court court;
  FailureNotices& notices = court.judge.exits().notices();
  const std::string option = " (++on-failure abort ends the job at such a failure)";
  SECTION("alone") {
    court.exits({plain(4, 3)});
    CHECK(court.judge.next_deadline() == kNow + FailureNotices::kTogether);
    CHECK_FALSE(notices.take(6, kNow));
    CHECK(notices.take(6, kNow + FailureNotices::kTogether) ==
          "n3: run: process 4: exited with status 3; the other 6 processes continue" + option);
    CHECK(court.judge.next_deadline() == kNever);
  }
  SECTION("with others in one line, the next not too soon") {
    court.exits({plain(4, 3)});
    court.exits({plain(1, 5), plain(6, 3)});
    CHECK(notices.take(1, kNow + 1s) ==
          "n[1,3-4]: run: 3 processes failed: 4,6 (exit status 3); 1 (exit status 5); the other process "
          "continues" +
              option);
    court.exits({plain(0, 1)});
    CHECK(court.judge.next_deadline() == kNow + 1s + FailureNotices::kPause);
  }
  SECTION("not very often") {
    for (std::size_t i = 0; i < FailureNotices::kMaxLines; ++i) {
      notices.add(plain(0, 1), "it failed", kNow);
      const auto line = notices.take(2, kNow + 1h * (i + 1));
      REQUIRE(line);
      CHECK(line->ends_with("; further failures are reported at the end") ==
            (i + 1 == FailureNotices::kMaxLines));
    }
    notices.add(plain(0, 1), "it failed", kNow);
    CHECK(notices.next_deadline() == kNever);
  }
}

}  // namespace charmtree::failure_notices_test
