// SPDX-License-Identifier: Apache-2.0
#include "health/restart_policy.hpp"

#include <catch2/catch.hpp>

using namespace charmtree;
using health::RestartPolicy;

namespace {
constexpr Instant kBegin{1h};
}

TEST_CASE("a program that has run for a while is restarted at once, as often as is allowed", "[restart]") {
  RestartPolicy policy{7};
  for (std::uint32_t i = 1; i <= 7; ++i) {
    const auto decision = policy.failed(kBegin, kBegin + RestartPolicy::kSettled);
    CHECK(decision.again);
    CHECK(decision.pause == 0s);
    CHECK(policy.restarts() == i);
  }
  const auto last = policy.failed(kBegin, kBegin + 1h);
  CHECK_FALSE(last.again);
  CHECK(last.no_more == "it has been restarted 7 times (++max-restarts)");
  CHECK(policy.restarts() == 7);
}

TEST_CASE("a program that fails soon after each start is given pauses, and then up", "[restart]") {
  RestartPolicy policy{100};
  std::vector<Duration> pauses;
  for (std::uint32_t i = 1; i < RestartPolicy::kMostInARow; ++i) {
    const auto decision = policy.failed(kBegin, kBegin + 1s);
    CHECK(decision.again);
    pauses.push_back(decision.pause);
  }
  CHECK(pauses == std::vector<Duration>{0s, 1s, 2s, 4s});
  SECTION("it is one failed start too many") {
    const auto last = policy.failed(kBegin, kBegin + 1s);
    CHECK_FALSE(last.again);
    CHECK(last.no_more == "it has failed 5 times in a row within 10 s of its start");
  }
  SECTION("a run that lasts begins a new row") {
    CHECK(policy.failed(kBegin, kBegin + 10s).again);
    CHECK(policy.failed(kBegin, kBegin + 1s).pause == 0s);
    CHECK(policy.failed(kBegin, kBegin + 1s).pause == 1s);
  }
}
