// SPDX-License-Identifier: Apache-2.0
#include "health/restart_budget.hpp"

#include <catch2/catch.hpp>
#include <vector>

namespace charmtree::restart_budget_test {

using proto::RestartBudget;

namespace {
constexpr Instant kBegin{1h};

/// It has run for so long, and is lost.
std::string lose(RestartBudget& budget, std::uint32_t process, Duration after) {
  budget.runs(process, kBegin);
  return budget.lost(process, kBegin + after);
}
}  // namespace

TEST_CASE("what has run for a while is started again at once, as often as is allowed", "[restart]") {
  RestartBudget budget{7, 1s};
  for (std::uint32_t i = 1; i <= 7; ++i) {
    CHECK(lose(budget, 3, RestartBudget::kSettled).empty());
    CHECK(budget.pause(3) == 0s);
    CHECK(budget.restarts(3) == i);
  }
  CHECK(lose(budget, 3, 1h) == "there have been 7 restarts (++max-restarts)");
  CHECK(lose(budget, 4, 1h) == "there have been 7 restarts (++max-restarts)");
  CHECK(budget.restarts(3) == 7);
}

TEST_CASE("what is lost soon after each start is given pauses, and then up", "[restart]") {
  RestartBudget budget{100, 1s};
  std::vector<Duration> pauses;
  for (std::uint32_t i = 0; i < RestartBudget::kMostInARow; ++i) {
    CHECK(lose(budget, 0, 1s).empty());
    pauses.push_back(budget.pause(0));
  }
  CHECK(pauses == std::vector<Duration>{0s, 1s, 2s, 4s, 8s});
  SECTION("once too often") {
    CHECK(lose(budget, 0, 1s) == "it was restarted 5 times and never ran for 10 s");
  }
  SECTION("a run that lasts begins a new row") {
    CHECK(lose(budget, 0, 10s).empty());
    CHECK(budget.pause(0) == 0s);
    CHECK(lose(budget, 0, 1s).empty());
    CHECK(budget.pause(0) == 1s);
  }
  SECTION("others are others") {
    CHECK(lose(budget, 1, 1s).empty());
    CHECK(budget.pause(1) == 0s);
  }
}

}  // namespace charmtree::restart_budget_test
