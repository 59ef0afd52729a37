// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/login_retries.hpp"

#include <catch2/catch.hpp>

#include "tree/overlay/machine_gate.hpp"

namespace charmtree::login_retries_test {

using namespace charmtree::proto;

namespace {

constexpr Instant kNow{100s};

/// One host, whose logins all fail at once.
struct Bench {
  explicit Bench(const LaunchConfig& launch = {.is_root = true}, Duration wait = {}, bool checkup = false)
      : job(job_with(wait, checkup)), config(launch) {
    child.first_tried = kNow;
  }
  static wire::JobSpec job_with(Duration wait, bool checkup) {
    wire::JobSpec job;
    job.launch.wait = wait;
    job.timeout = 60s;
    job.checkup = checkup;
    return job;
  }
  std::optional<Instant> fail(Errc code) { return retries.next(child, code, now); }
  /// How often it is tried again.
  std::uint32_t tries(Errc code) {
    std::uint32_t count = 0;
    while (const auto at = fail(code)) {
      REQUIRE(*at > now);
      now = *at;
      ++count;
    }
    return count;
  }

  wire::JobSpec job;
  LaunchConfig config;
  Random random{1};
  Child child;
  LoginRetries retries{job, config, random};
  Instant now = kNow;
};

}  // namespace

TEST_CASE("a failure that may pass is tried again three times, with longer pauses", "[login_retries]") {
  Bench b;
  Duration pause = 250ms;
  for (int i = 0; i < 3; ++i, pause *= 2) {
    const auto at = b.fail(Errc::refused);
    REQUIRE(at);
    CHECK(*at >= kNow + pause / 2);
    CHECK(*at <= kNow + pause + pause / 2);
  }
  CHECK_FALSE(b.fail(Errc::refused));
  CHECK(b.child.retries == 3);
  CHECK(b.child.turned_away == 0);
}

TEST_CASE("a failure that stays is not tried again", "[login_retries]") {
  Bench b;
  CHECK_FALSE(b.fail(Errc::not_authorised));
  CHECK_FALSE(b.fail(Errc::host_key_changed));
}

TEST_CASE("a check-up does not try again", "[login_retries]") {
  Bench b{{.is_root = true}, {}, true};
  CHECK_FALSE(b.fail(Errc::refused));
}

TEST_CASE("tries of an sshd that is too busy end with the time-out, and are counted apart",
          "[login_retries]") {
  Bench b;
  CHECK(b.tries(Errc::busy) > 20);
  CHECK(b.now - kNow > 50s);
  CHECK(b.now - kNow < 60s);
  CHECK(b.child.retries == 0);
  CHECK(b.child.turned_away > 20);
}

TEST_CASE("a penalty is waited out before the next try", "[login_retries]") {
  Bench b;
  CHECK(b.fail(Errc::penalised) > kNow + MachineGate::kPenalty);
}

TEST_CASE("a host that is coming up is tried as long as the user waits", "[login_retries]") {
  Bench b{{.is_root = true}, 30s};
  CHECK(b.tries(Errc::refused) > 10);
  CHECK(b.now - kNow > 25s);
  CHECK(b.now - kNow < 30s);
}

TEST_CASE("below the root a name that does not resolve is left to the parent", "[login_retries]") {
  Bench root{{.is_root = true}, 30s};
  Bench below{{}, 30s};
  CHECK(root.fail(Errc::no_such_host));
  CHECK_FALSE(below.fail(Errc::no_such_host));
  CHECK(below.fail(Errc::timed_out));
}

TEST_CASE("a visit tries again where sshd is too busy, and, as long as it insists, where none is reached",
          "[login_retries]") {
  Bench b{{.is_root = true}, 30s};
  b.child.purpose = Child::Purpose::sweep;
  CHECK_FALSE(b.fail(Errc::refused));
  CHECK_FALSE(b.fail(Errc::timed_out));
  CHECK(b.fail(Errc::busy));
  b.child.insistence = 10s;
  CHECK_FALSE(b.fail(Errc::refused));
  CHECK(b.tries(Errc::timed_out) > 3);
  CHECK(b.now - kNow < 10s);
}

}  // namespace charmtree::login_retries_test
