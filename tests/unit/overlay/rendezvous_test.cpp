// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/rendezvous.hpp"

#include <catch2/catch.hpp>

namespace charmtree::rendezvous_test {

using namespace charmtree::proto;
using wire::RankReport;

namespace {

constexpr Instant kStart{100s};

Rendezvous begun(std::uint32_t processes) {
  Rendezvous rendezvous{processes, 60s, {}};
  rendezvous.begin(kStart);
  return rendezvous;
}

std::string why(const Rendezvous& rendezvous) {
  return rendezvous.error() ? rendezvous.error()->what : "";
}

}  // namespace

TEST_CASE("a job begins when every rank has come; hosts are in the order of their lowest ranks",
          "[rendezvous]") {
  Rendezvous rendezvous = begun(5);
  const std::pair<RendezvousId, RankReport> cyclic[] = {
      {7, {"b", 4, 5}}, {3, {"c", 2, 5}}, {9, {"a", 0, 5}}, {9, {"a", 3, 0}}, {7, {"b", 1, 5}}};
  for (const auto& [launcher, report] : cyclic) {
    CHECK_FALSE(rendezvous.complete());
    rendezvous.report(launcher, report, kStart);
  }
  CHECK(rendezvous.complete());
  CHECK_FALSE(rendezvous.error());
  CHECK(rendezvous.next_deadline() == kNever);
  CHECK(rendezvous.seats() == std::vector<Rendezvous::Seat>{{9, "a", 2}, {7, "b", 2}, {3, "c", 1}});
  rendezvous.mpiexec_ended("exited with status 0", "");
  CHECK(rendezvous.complete());
}

TEST_CASE("a number of processes that is not charmrun's is an error at once", "[rendezvous]") {
  Rendezvous other_size = begun(4), too_many = begun(4), twice = begun(4), nobody = begun(4);
  other_size.report(1, {"a", 0, 8}, kStart);
  CHECK(why(other_size) == "a: process 0: mpiexec has started 8 processes, not 4");
  too_many.report(1, {"a", 4, 0}, kStart);
  CHECK(why(too_many) == "a: process 4: there should only be 4");
  twice.report(1, {"a", 2, 4}, kStart);
  twice.report(2, {"b", 2, 4}, kStart);
  CHECK(why(twice) == "b: process 2 has come before, on a");
  nobody.report(1, {"a", 0, 0, "no variable says it"}, kStart);
  CHECK(why(nobody) == "a: no variable says it");
  for (const Rendezvous* rendezvous : {&other_size, &too_many, &twice, &nobody}) {
    CHECK_FALSE(rendezvous->complete());
    CHECK(rendezvous->next_deadline() == kNever);
  }
}

TEST_CASE("those that are missing are named when nobody has come for the time-out", "[rendezvous]") {
  Rendezvous rendezvous = begun(8);
  for (const std::uint32_t rank : {0U, 2U, 3U}) rendezvous.report(1, {"a", rank, 8}, kStart + 50s);
  CHECK(rendezvous.next_deadline() == kStart + 110s);
  rendezvous.tick(kStart + 109s);
  CHECK_FALSE(rendezvous.error());
  rendezvous.tick(kStart + 110s);
  CHECK(why(rendezvous) ==
        "no further process of mpiexec has come for 60 s: 3 of 8 processes have come, missing: 1, 4-7");
}

TEST_CASE("of many gaps only the first are shown", "[rendezvous]") {
  Rendezvous rendezvous = begun(100);
  for (std::uint32_t rank = 1; rank < 100; rank += 2) rendezvous.report(1, {"a", rank, 100}, kStart);
  CHECK(rendezvous.progress() == "50 of 100 processes have come, missing: 0, 2, 4, 6, 8, 10, 12, 14, ...");
}

TEST_CASE("the end of mpiexec before all have come is the error, with what it said", "[rendezvous]") {
  Rendezvous silent = begun(2), talking = begun(2);
  silent.report(1, {"a", 1, 2}, kStart);
  silent.mpiexec_ended("exited with status 0", "");
  CHECK(why(silent) == "mpiexec exited with status 0 too early: 1 of 2 processes have come, missing: 0");
  talking.mpiexec_ended("exited with status 3", "no slots");
  CHECK(why(talking) ==
        "mpiexec exited with status 3 too early: 0 of 2 processes have come, missing: 0-1; it last said: no "
        "slots");
}

TEST_CASE("a launcher that goes before the start ends it, unless mpiexec soon says why", "[rendezvous]") {
  Rendezvous alone = begun(3), explained = begun(3);
  const Error gone{Errc::link_lost, Phase::run, "closed"};
  for (Rendezvous* rendezvous : {&alone, &explained}) {
    rendezvous->lost(5, gone, kStart);  // it had said nothing
    CHECK(rendezvous->next_deadline() == kStart + 60s);
    rendezvous->report(1, {"a", 1, 3}, kStart);
    rendezvous->lost(1, gone, kStart + 1s);
    CHECK_FALSE(rendezvous->error());
  }
  CHECK(alone.next_deadline() == kStart + 2s);
  alone.tick(kStart + 2s);
  CHECK(why(alone) == "a: its launcher has gone (closed), when 1 of 3 processes have come, missing: 0, 2");
  explained.mpiexec_ended("was killed by signal 9", "");
  CHECK(why(explained).starts_with("mpiexec was killed by signal 9 too early"));
}

TEST_CASE("a starter that does not count gives each process some number", "[rendezvous]") {
  Rendezvous rendezvous{2, 60s, {"pbsdsh", false}};
  rendezvous.begin(kStart);
  rendezvous.report(4, {"b", 0x4000'0001, 0}, kStart);
  CHECK(rendezvous.progress() == "1 of 2 processes have come");
  rendezvous.report(3, {"a", 7, 0}, kStart);
  CHECK(rendezvous.complete());
  CHECK(rendezvous.seats() == std::vector<Rendezvous::Seat>{{3, "a", 1}, {4, "b", 1}});
  SECTION("twice the same") {
    rendezvous.report(3, {"a", 7, 0}, kStart);
    CHECK(why(rendezvous) == "a: process 7 has come before, on a");
  }
  SECTION("one more") {
    rendezvous.report(3, {"a", 8, 0}, kStart);
    CHECK(why(rendezvous) == "a: process 8: there should only be 2");
  }
}

TEST_CASE("a launcher that goes when the last process has just come is missed all the same", "[rendezvous]") {
  Rendezvous rendezvous = begun(1);
  rendezvous.report(1, {"a", 0, 1}, kStart);
  rendezvous.lost(1, {Errc::link_lost, Phase::run, "closed"}, kStart);
  CHECK_FALSE(rendezvous.complete());
  rendezvous.tick(kStart + 1s);
  CHECK(rendezvous.error());
}

}  // namespace charmtree::rendezvous_test
