// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/login_pace.hpp"

#include <catch2/catch.hpp>

namespace charmtree::login_pace_test {

using namespace charmtree::proto;

namespace {

constexpr Instant kNow{100s};
constexpr std::uint64_t kTenASecond = 10'000'000;
constexpr LaunchConfig kRoot{.is_root = true};

wire::JobSpec job_with(wire::Shape shape, std::uint64_t rate) {
  wire::JobSpec job;
  job.launch.shape = shape;
  job.launch.login_rate = rate;
  job.hosts = 100;
  return job;
}

}  // namespace

TEST_CASE("without a limit or late binding logins begin at once", "[login_pace]") {
  const wire::JobSpec job = job_with({10, 1}, 0);
  LoginPace pace{job, kRoot};
  CHECK_FALSE(pace.is_paced());
  pace.begun(kNow);
  CHECK(pace.allows(kNow));
  CHECK(pace.next() == kNow);
  CHECK(pace.retry_at(kNow + 1s) == kNow + 1s);
}

TEST_CASE("with late binding there is a pause between first logins, not before a further try",
          "[login_pace]") {
  const wire::JobSpec job = job_with({}, 0);
  LoginPace pace{job, kRoot};
  CHECK(pace.is_paced());
  pace.begun(kNow);
  CHECK(pace.next() == kNow + 500us);
  CHECK(pace.allows(kNow));
  CHECK(pace.retry_at(kNow) == kNow);
}

TEST_CASE("the limit holds for first logins and further tries", "[login_pace]") {
  const wire::JobSpec job = job_with({10, 1}, kTenASecond);
  LoginPace pace{job, kRoot};
  CHECK(pace.is_paced());
  CHECK(pace.allows(kNow));
  pace.begun(kNow);
  CHECK(pace.next() == kNow + 100ms);
  CHECK_FALSE(pace.allows(kNow + 99ms));
  CHECK(pace.allows(kNow + 100ms));
  CHECK(pace.retry_at(kNow) == kNow + 100ms);
  CHECK(pace.retry_at(kNow + 1s) == kNow + 1s);
  CHECK(pace.retry_at(kNever) == kNever);
}

TEST_CASE("time that passes without hosts is not made up for", "[login_pace]") {
  const wire::JobSpec job = job_with({}, 0);
  LoginPace pace{job, kRoot};
  pace.begun(kNow);
  pace.resume(kNow);
  CHECK(pace.next() == kNow + 500us);
  pace.resume(kNow + 1s);
  CHECK(pace.next() == kNow + 1s);
}

TEST_CASE("the limit is the root's, and goes down the tree with the hosts", "[login_pace]") {
  const wire::JobSpec job = job_with({10, 1}, kTenASecond);
  LoginPace root{job, kRoot};
  LoginPace below{job, {}};
  const std::uint64_t part = root.give(50, 49);
  CHECK(part == kTenASecond / 2 + 1);
  below.receive(part, kNow);
  CHECK(below.next() > kNow + 190ms);  // a part is no login at once
  CHECK(below.next() < kNow + 200ms);
  root.begun(kNow);
  CHECK(root.next() > kNow + 200ms);
  SECTION("it comes back from who needs it no more") {
    CHECK(below.give_all() == part);
    CHECK(below.give_all() == 0);
    root.take_back(part);
    root.begun(kNow);
    CHECK(root.next() == kNow + 100ms);
  }
  SECTION("nobody gives more than it has") {
    CHECK(below.give_all() == part);
    CHECK(below.give(10, 0) == 0);
  }
  SECTION("nor gets more than the job has") {
    below.receive(1'000 * kTenASecond, kNow);
    CHECK(below.give_all() == part + kTenASecond);
  }
}

TEST_CASE("whoever has no rate left begins a login now and then all the same", "[login_pace]") {
  const wire::JobSpec job = job_with({10, 1}, kTenASecond);
  LoginPace pace{job, {}};
  pace.begun(kNow);
  CHECK(pace.next() == kNow + 10s);  // 100 hosts would take the job so long
}

}  // namespace charmtree::login_pace_test
