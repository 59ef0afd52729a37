// SPDX-License-Identifier: Apache-2.0
#include "tree/turn/job_clock.hpp"

#include <catch2/catch.hpp>

namespace charmtree::job_clock_test {

using namespace charmtree::proto;

TEST_CASE("the time of a job stands still while it is suspended", "[job_clock]") {
  JobClock clock;
  const Instant begin{1000s};
  CHECK(clock.at(begin) == begin);
  CHECK(clock.real(begin + 5s) == begin + 5s);
  CHECK(clock.real(kNever) == kNever);

  clock.stop(begin + 1s);
  clock.stop(begin + 2s);  // it stands already
  CHECK(clock.stands());
  CHECK(clock.at(begin + 60s) == begin + 1s);
  CHECK(clock.real(begin + 5s) == kNever);

  clock.go_on(begin + 61s);
  clock.go_on(begin + 62s);
  CHECK_FALSE(clock.stands());
  CHECK(clock.at(begin + 61s) == begin + 1s);
  CHECK(clock.real(begin + 5s) == begin + 65s);

  clock.stop(begin + 70s);
  clock.go_on(begin + 71s);
  CHECK(clock.at(begin + 71s) == begin + 10s);  // all suspensions together
}

}  // namespace charmtree::job_clock_test
