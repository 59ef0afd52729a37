// SPDX-License-Identifier: Apache-2.0
// The deadlines of a host's processes. How many are asked is counted.
#include "tree/job/process_deadlines.hpp"

#include <catch2/catch.hpp>
#include <vector>

namespace charmtree::process_deadlines_test {

using namespace charmtree::proto;

namespace {

constexpr Instant kNow{10s};

struct Bench {
  explicit Bench(std::uint32_t processes) : each(processes, kNever) {}
  Instant earliest() {
    return deadlines.earliest([this](std::uint32_t rank) {
      ++asked;
      return each.at(rank);
    });
  }
  void set(std::uint32_t rank, Instant deadline) {
    each.at(rank) = deadline;
    deadlines.touch(rank);
  }
  std::vector<Instant> each;
  ProcessDeadlines deadlines;
  int asked = 0;
};

}  // namespace

TEST_CASE("only processes that an event has touched are asked for their deadlines", "[process_deadlines]") {
  Bench b(100'000);
  b.deadlines.touch_all(100'000);
  CHECK(b.earliest() == kNever);
  CHECK(b.asked == 100'000);
  b.asked = 0;
  for (std::uint32_t event = 0; event < 1000; ++event) {
    b.set(event * 7, kNow + event * 1ms);
    b.deadlines.touch(event * 7);
    b.earliest();
  }
  CHECK(b.asked == 1000);
  CHECK(b.earliest() == kNow);
  CHECK(b.asked == 1000);
}

TEST_CASE("those that are due come by rank", "[process_deadlines]") {
  Bench b(9);
  CHECK(b.earliest() == kNever);
  b.set(7, kNow);
  b.set(2, kNow + 1s);
  b.set(5, kNow + 2s);
  b.set(8, kNow + 1s);
  CHECK(b.earliest() == kNow);
  CHECK(b.deadlines.due(kNow - 1ms).empty());
  CHECK(b.deadlines.due(kNow + 1s) == std::vector<std::uint32_t>{2, 7, 8});
  b.set(7, kNever);
  b.set(8, kNow + 3s);
  CHECK(b.earliest() == kNow + 1s);
  CHECK(b.deadlines.due(kNow + 2s) == std::vector<std::uint32_t>{2, 5});
}

TEST_CASE("processes that come while all are marked are marked, too", "[process_deadlines]") {
  Bench b(4);
  b.deadlines.touch_all(3);
  b.set(3, kNow);
  CHECK(b.earliest() == kNow);
  b.each = {kNow + 1s, kNever, kNever, kNever};
  b.deadlines.touch_all(2);  // a job that is resized has fewer
  CHECK(b.earliest() == kNow + 1s);
  CHECK(b.deadlines.due(kNow + 9s) == std::vector<std::uint32_t>{0});
}

}  // namespace charmtree::process_deadlines_test
