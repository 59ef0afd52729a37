// SPDX-License-Identifier: Apache-2.0
#include "tree/job/run_end.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/root_job.hpp"

namespace charmtree::run_end_test {

using namespace charmtree::proto;
using namespace charmtree::test;

TEST_CASE("an end is ordered once, and once more when it becomes one without grace", "[run_end]") {
  RunEnd end;
  Verdict verdict;
  verdict.end.mode = wire::EndMode::stop;
  CHECK(end.is_new());
  auto order = end.order(verdict, true);
  REQUIRE(order);
  CHECK(order->stay);
  CHECK_FALSE(end.is_new());
  CHECK_FALSE(end.order(verdict, true));
  verdict.end.mode = wire::EndMode::kill;
  order = end.order(verdict, false);
  REQUIRE(order);
  CHECK(order->mode == wire::EndMode::kill);
  CHECK_FALSE(order->stay);
  CHECK_FALSE(end.order(verdict, false));
}

TEST_CASE("a session that awaits a run is judged anew when it ends", "[run_end]") {
  RootJob job{1};
  job.job->session = true;
  job.judge.decision().nothing_to_run();
  RunEnd end;
  REQUIRE(end.is_new());
  REQUIRE(end.order(*job.judge.verdict(), true));
  CHECK(end.stays(*job.job, true));
  CHECK_FALSE(end.stays(*job.job, false));
  const bool awaits = GENERATE(true, false);
  end.await_run(awaits);
  end.end_session(job.judge);
  CHECK_FALSE(end.awaits_run());
  CHECK_FALSE(end.stays(*job.job, true));
  CHECK(job.judge.verdict().has_value() == !awaits);
  CHECK(end.is_new() == awaits);
}

}  // namespace charmtree::run_end_test
