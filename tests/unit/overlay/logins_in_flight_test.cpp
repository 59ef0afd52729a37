// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/logins_in_flight.hpp"

#include <catch2/catch.hpp>

namespace charmtree::logins_in_flight_test {

using namespace charmtree::proto;

namespace {

using Silence = LoginsInFlight::Silence;
constexpr Instant kNow{100s};

/// That can do without some of its hosts.
wire::JobSpec job_with(Duration patience = {}) {
  wire::JobSpec job;
  job.launch.on_host_failure = wire::OnHostFailure::drop;
  job.launch.patience = patience;
  return job;
}

}  // namespace

TEST_CASE("there is room for as many logins as the window has, however they end", "[in_flight]") {
  wire::JobSpec job;
  job.launch.batch = 3;
  LoginsInFlight logins{job};
  CHECK(logins.empty());
  for (LinkId link = 1; link <= 3; ++link) {
    CHECK(logins.has_room());
    logins.begin(link, Silence::borne, kNow);
  }
  CHECK_FALSE(logins.has_room());
  SECTION("success") {
    logins.succeeded(2, kNow);
  }
  SECTION("failure") {
    logins.failed(2, Errc::refused, kNow);
  }
  SECTION("cancelled") {
    logins.cancelled(2);
  }
  CHECK(logins.has_room());
  logins.cancelled(1);
  logins.cancelled(3);
  CHECK(logins.empty());
}

TEST_CASE("who is silent for longer than the user's patience is told once, and goes on", "[in_flight]") {
  wire::JobSpec job = job_with(5s);
  LoginsInFlight logins{job};
  CHECK(logins.patience_ends() == kNever);
  logins.begin(1, Silence::borne, kNow);
  CHECK(logins.patience_ends() == kNever);
  logins.begin(2, Silence::judged, kNow + 1s);
  logins.begin(3, Silence::judged, kNow + 2s);
  logins.begin(4, Silence::judged, kNow + 3s);
  CHECK(logins.patience_ends() == kNow + 6s);
  CHECK_FALSE(logins.take_silent(kNow + 6s - 1ns));
  CHECK(logins.take_silent(kNow + 6s) == LinkId{2});
  CHECK_FALSE(logins.take_silent(kNow + 6s));
  logins.succeeded(3, kNow + 6s);
  CHECK(logins.patience_ends() == kNow + 8s);
  SECTION("the patience of another run") {
    job.launch.patience = 10s;
    CHECK(logins.patience_ends() == kNow + 13s);
  }
  SECTION("nobody is judged any more") {
    logins.judge_no_more();
    CHECK(logins.patience_ends() == kNever);
    CHECK_FALSE(logins.take_silent(kNow + 1h));
  }
  SECTION("a late answer is one all the same") {
    logins.succeeded(2, kNow + 7s);
    CHECK(logins.usual() > 0s);
  }
}

TEST_CASE("without a patience of the user's it comes from the logins so far", "[in_flight]") {
  const wire::JobSpec job = job_with();
  LoginsInFlight logins{job};
  CHECK(logins.usual() == 0s);
  logins.begin(1, Silence::judged, kNow);
  logins.begin(2, Silence::judged, kNow);
  CHECK(logins.patience_ends() == kNow + 2s);
  logins.succeeded(1, kNow + 1s);
  CHECK(logins.usual() == 1s);
  CHECK(logins.patience_ends() == kNow + 4s);
}

TEST_CASE("nobody is impatient where all hosts are needed, or before anybody waits for a run",
          "[in_flight]") {
  wire::JobSpec job = job_with();
  LoginsInFlight logins{job};
  const auto is_judged = [&](LinkId link) {
    logins.begin(link, Silence::judged, kNow);
    const bool is = logins.patience_ends() != kNever;
    logins.cancelled(link);
    return is;
  };
  CHECK(is_judged(1));
  job.session = true;
  CHECK_FALSE(is_judged(2));
  job.launch.patience = 5s;  // the user's own word holds
  CHECK(is_judged(3));
  job.launch.patience = {};
  job.processes = 4;
  CHECK(is_judged(4));
  job.launch.on_host_failure = wire::OnHostFailure::abort;
  CHECK_FALSE(is_judged(5));
}

TEST_CASE("who is on its way answers after the rest of the latency, or never", "[in_flight]") {
  const wire::JobSpec job = job_with();
  LoginsInFlight logins{job};
  logins.begin(1, Silence::borne, kNow - 400ms);  // four times the latency ago
  logins.begin(2, Silence::borne, kNow - 150ms);  // late
  logins.begin(3, Silence::borne, kNow - 40ms);
  logins.begin(4, Silence::borne, kNow);
  CHECK(logins.still_take(100ms, kNow) == std::vector<Duration>{-50ms, 60ms, 100ms});
}

}  // namespace charmtree::logins_in_flight_test
