// SPDX-License-Identifier: Apache-2.0
#include "tree/turn/losses.hpp"

#include <catch2/catch.hpp>

namespace charmtree::losses_test {

using namespace charmtree::proto;
using Ranges = Losses::Ranges;

namespace {

constexpr Instant kNow{100s};

wire::JobSpec job_of(std::uint32_t processes) {
  wire::JobSpec job;
  job.processes = processes;
  return job;
}

}  // namespace

TEST_CASE("a process counts once, whatever is told of it and in whatever order", "[losses]") {
  const wire::JobSpec job = job_of(10);
  Losses losses{job};
  losses.ended({{0, 1}});
  CHECK(losses.lost({{1, 3}}) == Ranges{{2, 3}});  // 1 had ended before
  CHECK(losses.lost({{2, 2}}).empty());
  losses.ended({{3, 4}});  // 3 was lost, its end comes late
  CHECK(losses.done() == 5);
  CHECK(losses.lost().print() == "2-3");
  CHECK(losses.lost({{0, 9}}) == Ranges{{5, 9}});
  CHECK(losses.done() == 10);
}

TEST_CASE("the others are told of losses at once, but not too often, each in an epoch of its own",
          "[losses]") {
  const wire::JobSpec job = job_of(10);
  Losses losses{job};
  CHECK_FALSE(losses.tell(kNow));
  CHECK(losses.next_deadline() == kNever);
  CHECK(losses.awaited() == 10);
  losses.lost({{3, 3}});
  CHECK(losses.awaited() == 10);  // nobody has told the others to count anew
  const auto first = losses.tell(kNow);
  REQUIRE(first);
  CHECK(first->epoch == 1);
  CHECK(first->processes == Ranges{{3, 3}});
  CHECK(losses.awaited() == 9);
  losses.lost({{5, 5}});
  losses.lost({{4, 4}});
  CHECK_FALSE(losses.tell(kNow));
  CHECK(losses.next_deadline() == kNow + Losses::kPause);
  CHECK(losses.awaited() == 9);
  const auto second = losses.tell(kNow + Losses::kPause);
  REQUIRE(second);
  CHECK(second->epoch == 2);
  CHECK(second->processes == Ranges{{4, 5}});
  CHECK(losses.awaited() == 7);
  CHECK_FALSE(losses.tell(kNow + 1s));
}

TEST_CASE("who had ended before its launcher was lost is awaited no longer, and is not lost", "[losses]") {
  const wire::JobSpec job = job_of(4);
  Losses losses{job};
  losses.ended({{2, 2}});
  losses.lost({{2, 3}});
  CHECK(losses.tell(kNow)->processes == Ranges{{2, 3}});
  CHECK(losses.awaited() == 2);
  CHECK(losses.summary() == "1 of 4 processes was lost (3); the job went on without it");
}

TEST_CASE("the summary names the lost, as far as there is room", "[losses]") {
  const wire::JobSpec job = job_of(1000);
  Losses losses{job};
  losses.lost({{3, 3}, {7, 9}});
  CHECK(losses.summary() == "4 of 1000 processes were lost (3,7-9); the job went on without them");
  for (std::uint32_t process = 10; process < 1000; process += 2) losses.lost({{process, process}});
  CHECK(losses.summary().size() < Losses::kMaxWhich + 100);
  CHECK(losses.summary().find(",...)") != std::string::npos);
  losses.lost({{0, 999}});
  CHECK(losses.summary() == "all 1000 processes were lost");
}

TEST_CASE("a storm of losses has a limit of lines", "[losses]") {
  const wire::JobSpec job = job_of(1000);
  Losses losses{job};
  for (std::uint32_t i = 0; i < 2 * Losses::kMaxLines; ++i) losses.add({{{i, i}}, 0, "how", "line"});
  const std::vector<Loss> news = losses.take_news();
  REQUIRE(news.size() == 2 * Losses::kMaxLines);
  CHECK(news[Losses::kMaxLines - 2].line == "line");
  CHECK(news[Losses::kMaxLines - 1].line == "line; of other losses only their number is told, at the end");
  CHECK(news[Losses::kMaxLines].line.empty());
  CHECK(losses.take_news().empty());
}

TEST_CASE("an epoch begins without a loss when counts of barriers may be lost", "[losses]") {
  const wire::JobSpec job = job_of(10);
  Losses losses{job};
  losses.count_anew();
  CHECK(losses.next_deadline() <= kNow);
  const auto told = losses.tell(kNow);
  REQUIRE(told);
  CHECK(told->epoch == 1);
  CHECK(told->processes.empty());
  CHECK(losses.awaited() == 10);
  CHECK(losses.next_deadline() == kNever);
}

TEST_CASE("another root's losses are known, told to nobody again, and an epoch follows its last",
          "[losses][takeover]") {
  const wire::JobSpec job = job_of(10);
  Losses losses{job};
  losses.ended({{4, 4}});
  losses.resume(7, {{3, 5}});
  CHECK(losses.lost().print() == "3,5");  // 4 had ended before its launcher was lost
  CHECK(losses.done() == 3);
  CHECK(losses.lost({{3, 3}}).empty());
  CHECK(losses.next_deadline() <= kNow);
  const auto told = losses.tell(kNow);
  REQUIRE(told);
  CHECK(told->epoch == 8);
  CHECK(told->processes.empty());
  CHECK(losses.awaited() == 7);
  losses.lost({{9, 9}});
  CHECK(losses.tell(kNow + 1s)->processes == Ranges{{9, 9}});
}

}  // namespace charmtree::losses_test
