// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/muster.hpp"

#include <catch2/catch.hpp>

namespace charmtree::muster_test {

using namespace charmtree::proto;
using wire::RankReport;

namespace {

constexpr Instant kStart{100s};

Muster begun(std::uint32_t processes) {
  Muster muster{processes, 60s};
  muster.begin(kStart);
  return muster;
}

std::string why(const Muster& muster) {
  return muster.error() ? muster.error()->what : "";
}

}  // namespace

TEST_CASE("a job begins when every rank has come; hosts are in the order of their lowest ranks", "[muster]") {
  Muster muster = begun(5);
  const std::pair<MusterId, RankReport> cyclic[] = {
      {7, {"b", 4, 5}}, {3, {"c", 2, 5}}, {9, {"a", 0, 5}}, {9, {"a", 3, 0}}, {7, {"b", 1, 5}}};
  for (const auto& [launcher, report] : cyclic) {
    CHECK_FALSE(muster.complete());
    muster.report(launcher, report, kStart);
  }
  CHECK(muster.complete());
  CHECK_FALSE(muster.error());
  CHECK(muster.next_deadline() == kNever);
  CHECK(muster.seats() == std::vector<Muster::Seat>{{9, "a", 2}, {7, "b", 2}, {3, "c", 1}});
  muster.mpiexec_ended("exited with status 0", "");
  CHECK(muster.complete());
}

TEST_CASE("a number of processes that is not charmrun's is an error at once", "[muster]") {
  Muster other_size = begun(4), too_many = begun(4), twice = begun(4), nobody = begun(4);
  other_size.report(1, {"a", 0, 8}, kStart);
  CHECK(why(other_size) == "a: process 0: mpiexec has started 8 processes, not 4");
  too_many.report(1, {"a", 4, 0}, kStart);
  CHECK(why(too_many) == "a: process 4: there should only be 4");
  twice.report(1, {"a", 2, 4}, kStart);
  twice.report(2, {"b", 2, 4}, kStart);
  CHECK(why(twice) == "b: process 2 has come before, on a");
  nobody.report(1, {"a", 0, 0, "no variable says it"}, kStart);
  CHECK(why(nobody) == "a: no variable says it");
  for (const Muster* muster : {&other_size, &too_many, &twice, &nobody}) {
    CHECK_FALSE(muster->complete());
    CHECK(muster->next_deadline() == kNever);
  }
}

TEST_CASE("those that are missing are named when nobody has come for the time-out", "[muster]") {
  Muster muster = begun(8);
  for (const std::uint32_t rank : {0U, 2U, 3U}) muster.report(1, {"a", rank, 8}, kStart + 50s);
  CHECK(muster.next_deadline() == kStart + 110s);
  muster.tick(kStart + 109s);
  CHECK_FALSE(muster.error());
  muster.tick(kStart + 110s);
  CHECK(why(muster) ==
        "no further process of mpiexec has come for 60 s: 3 of 8 processes have come, missing: 1, 4-7");
}

TEST_CASE("of many gaps only the first are shown", "[muster]") {
  Muster muster = begun(100);
  for (std::uint32_t rank = 1; rank < 100; rank += 2) muster.report(1, {"a", rank, 100}, kStart);
  CHECK(muster.progress() == "50 of 100 processes have come, missing: 0, 2, 4, 6, 8, 10, 12, 14, ...");
}

TEST_CASE("the end of mpiexec before all have come is the error, with what it said", "[muster]") {
  Muster silent = begun(2), talking = begun(2);
  silent.report(1, {"a", 1, 2}, kStart);
  silent.mpiexec_ended("exited with status 0", "");
  CHECK(why(silent) == "mpiexec exited with status 0 too early: 1 of 2 processes have come, missing: 0");
  talking.mpiexec_ended("exited with status 3", "no slots");
  CHECK(why(talking) ==
        "mpiexec exited with status 3 too early: 0 of 2 processes have come, missing: 0-1; it last said: no "
        "slots");
}

TEST_CASE("a launcher that goes before the start ends it, unless mpiexec soon says why", "[muster]") {
  Muster alone = begun(3), explained = begun(3);
  const Error gone{Errc::link_lost, Phase::run, "closed"};
  for (Muster* muster : {&alone, &explained}) {
    muster->lost(5, gone, kStart);  // it had said nothing
    CHECK(muster->next_deadline() == kStart + 60s);
    muster->report(1, {"a", 1, 3}, kStart);
    muster->lost(1, gone, kStart + 1s);
    CHECK_FALSE(muster->error());
  }
  CHECK(alone.next_deadline() == kStart + 2s);
  alone.tick(kStart + 2s);
  CHECK(why(alone) == "a: its launcher has gone (closed), when 1 of 3 processes have come, missing: 0, 2");
  explained.mpiexec_ended("was killed by signal 9", "");
  CHECK(why(explained).starts_with("mpiexec was killed by signal 9 too early"));
}

TEST_CASE("a launcher that goes when the last process has just come is missed all the same", "[muster]") {
  Muster muster = begun(1);
  muster.report(1, {"a", 0, 1}, kStart);
  muster.lost(1, {Errc::link_lost, Phase::run, "closed"}, kStart);
  CHECK_FALSE(muster.complete());
  muster.tick(kStart + 1s);
  CHECK(muster.error());
}

}  // namespace charmtree::muster_test
