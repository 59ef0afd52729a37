// SPDX-License-Identifier: Apache-2.0
#include "tree/job/init_report.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/root_job.hpp"

namespace charmtree::init_report_test {

using namespace charmtree::proto;
using namespace charmtree::test;

namespace {

struct Init : RootJob {
  explicit Init(wire::Mpi mpi, wire::MpiService::Pmi pmi = wire::MpiService::Pmi::one)
      : RootJob(plan(mpi, pmi)), report(job) {
    judge.begin(now);
  }
  static RootPlan plan(wire::Mpi mpi, wire::MpiService::Pmi pmi) {
    RootPlan plan = plan_of(4);
    plan.job.timeout = 60s;
    plan.job.spawn.mpi.pmi = pmi;
    plan.job.spawn.mpi.library = mpi;
    plan.job.reports.stamps = true;
    return plan;
  }
  /// All are started.
  void start() {
    up({0, 1, 2, 3});
    report.turn(judge, now, out);
  }
  void turn(Duration later) { report.turn(judge, now + later, out); }

  InitReport report;
};

}  // namespace

TEST_CASE("who does not come to MPI_Init within ++timeout is told once, with what the program is offered",
          "[init_report]") {
  for (const auto& [mpi, needs, other] :
       {std::tuple{wire::Mpi::mpich, "needs MPICH's library", "++pmi pmix"},
        {wire::Mpi::open_mpi, "needs Open MPI's library, and is offered PMIx", "++pmi 1"},
        {wire::Mpi::unknown, "imports mpi4py", "++pmi 1 and ++pmi pmix"}}) {
    Init init{mpi};
    init.start();
    CHECK(init.report.next_deadline() == init.now + 60s);
    init.report.joined(3);
    init.turn(59s);
    CHECK(init.out.empty());
    init.turn(60s);
    init.turn(61s);
    REQUIRE(init.lines().size() == 1);
    CHECK(init.lines()[0].starts_with("3 of 4 processes called MPI_Init within 60 s; the program "));
    CHECK(init.said(needs));
    CHECK(init.said(other));
    CHECK(init.report.next_deadline() == kNever);
    init.report.joined(1);  // it comes late
    init.turn(70s);
    CHECK(only<AllInitialised>(init.out).size() == 1);
  }
}

TEST_CASE("when all have come, it is recorded when the first and the last did", "[init_report]") {
  Init init{wire::Mpi::mpich};
  init.start();
  init.report.joined(1);
  init.turn(1s);
  init.report.joined(3);
  init.turn(2s);
  init.turn(90s);
  REQUIRE(init.out.size() == 1);
  CHECK(only<AllInitialised>(init.out)[0].first == init.now + 1s);
  CHECK(only<AllInitialised>(init.out)[0].last == init.now + 2s);
}

TEST_CASE("nobody is missed in MPI_Init of a program that needs no MPI, or is offered none, or is over",
          "[init_report]") {
  for (const auto& [mpi, pmi] : {std::pair{wire::Mpi::none, wire::MpiService::Pmi::one},
                                 {wire::Mpi::mpich, wire::MpiService::Pmi::none}}) {
    Init init{mpi, pmi};
    init.start();
    CHECK(init.report.next_deadline() == kNever);
    init.turn(100s);
    CHECK(init.out.empty());
  }
  Init over{wire::Mpi::mpich};
  over.start();
  over.judge.refuse({Errc::bad_input, Phase::run, "over", {}});
  over.turn(100s);
  CHECK(over.out.empty());
  Init taken{wire::Mpi::mpich};  // by another root, which does not know who has come
  taken.report.tell_nothing();
  taken.start();
  taken.turn(100s);
  CHECK(taken.out.empty());
}

}  // namespace charmtree::init_report_test
