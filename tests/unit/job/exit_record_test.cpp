// SPDX-License-Identifier: Apache-2.0
#include "tree/job/exit_record.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/four_hosts.hpp"
#include "tree/base/exit_status.hpp"

namespace charmtree::exit_record_test {

using namespace charmtree::proto;

namespace {

struct Job {
  Job() { spec.processes = 8; }
  void registered(std::uint32_t processes) { registrations.add({}, processes); }
  wire::JobSpec spec;
  std::vector<Host> hosts = test::four_hosts();
  ProcessPlaces places{hosts};
  Registrations registrations{spec, hosts};
  ExitRecord exits{places, registrations};
};

wire::ProcessExit plain(std::uint32_t process, std::uint8_t code) {
  return {process, code};
}

}  // namespace

TEST_CASE("the first that failed gives the status, and the others are counted", "[exit_record]") {
  Job job;
  CHECK(job.exits.verdict_at_end().status == 0);
  CHECK_FALSE(job.exits.any_failed());
  for (const wire::ProcessExit& exit : {plain(4, 5), plain(1, 3)}) {
    job.exits.count_gone();
    job.exits.failed(exit);
  }
  CHECK(job.exits.done() == 2);
  const Verdict verdict = job.exits.verdict_at_end();
  CHECK(verdict.status == 5);
  CHECK(verdict.lines ==
        std::vector<std::string>{"n3: run: process 4: exited with status 5 (the first of 2 that failed)"});
  CHECK(verdict.why.process == 4U);
}

TEST_CASE("who ends the job by an abort does not hide the first that failed", "[exit_record]") {
  Job job;
  CHECK(job.exits.verdict_of(wire::AbortUp{5, 9, "no more"}).status == 9);
  job.exits.failed(plain(1, 3));
  const Verdict verdict = job.exits.verdict_of(wire::AbortUp{5, 9, "no more"});
  CHECK(verdict.status == 3);
  CHECK(verdict.why.process == 1U);
  CHECK(verdict.lines.size() == 2);
  CHECK(verdict.lines.front() == "n1: run: process 1: exited with status 3");
}

TEST_CASE("an ending's code counts if nobody failed before", "[exit_record]") {
  Job job;
  wire::Facts facts;
  facts.ended = 2;
  facts.code = wire::Code{3, 7};
  job.exits.on(facts);
  facts.code = wire::Code{0, 9};
  job.exits.on(facts);
  CHECK(job.exits.any_ended());
  CHECK_FALSE(job.exits.any_gone());
  CHECK(job.exits.done() == 4);
  CHECK(job.exits.verdict_at_end().status == 7);
  job.exits.failed(plain(1, 3));
  CHECK(job.exits.verdict_at_end().status == 3);
}

TEST_CASE("how a process ended is noted once, and is news if it failed", "[exit_record]") {
  Job job;
  wire::Facts facts;
  facts.who_ended = {{0, 1}};
  job.exits.on(facts);
  job.exits.note(plain(1, 3));  // known already
  job.exits.note(plain(2, 3));
  job.exits.note(wire::AbortUp{5, 1, "no more"});
  job.exits.note_lost({{2, 3}});
  const std::vector<Progress::Failure> news = job.exits.take_failures();
  REQUIRE(news.size() == 2);
  CHECK((news[0].process == 2 && news[0].host == 1 && news[0].how == "exited with status 3"));
  CHECK((news[1].process == 5 && news[1].how == "aborted: no more"));
  CHECK(job.exits.take_failures().empty());
  CHECK(job.exits.ends().ways().at({EndKind::launcher}).print() == "3");
  CHECK(job.exits.ends().line() == "2 processes failed: 2 (exit status 3); 5 (aborted with status 1)");
}

TEST_CASE("a registered process that leaves of its own accord has not ended its protocol", "[exit_record]") {
  wire::ProcessExit exit = plain(2, 0);
  CHECK(early_leave(exit).what.empty());
  exit.registered = true;
  CHECK(early_leave(exit).what == " without the end of its protocol");
  exit.signal = 9;
  CHECK(early_leave(exit).what.empty());
  exit.signal = 0;
  exit.lost_connection = true;
  CHECK(early_leave(exit).hint.empty());
}

TEST_CASE("a process that has not registered was only starting if others have", "[exit_record]") {
  Job job;
  CHECK(job.exits.about(plain(3, 1)) == "n2: run: process 3: exited with status 1");
  job.registered(2);
  CHECK(job.exits.about(plain(3, 1), " again") == "n2: start: process 3: exited with status 1 again");
  CHECK(job.exits.verdict_of(wire::AbortUp{3, 9, "no more"}).lines.front() ==
        "n2: start: process 3: aborted: no more (status 9)");
  job.registrations.resume_with_table();
  CHECK(job.exits.verdict_of(wire::AbortUp{3, 9, "no more"}).lines.front() ==
        "n2: run: process 3: aborted: no more (status 9)");
}

TEST_CASE("one that left early is named with those that wait for it", "[exit_record]") {
  Job job;
  job.registered(3);
  SECTION("with status 0") {
    wire::Facts facts;
    facts.exited_ok = 1;
    facts.first_ok = 5;
    job.exits.on(facts);
    CHECK(job.exits.any_gone());
    CHECK(job.exits.any_silent());
    const Verdict verdict = job.exits.verdict_of_early(3, "registering", "in the node table");
    CHECK(verdict.status == kLauncherFailed);
    CHECK(verdict.lines.front() ==
          "n3: start: process 5: exited with status 0 before registering, while 3 others wait for it in the "
          "node "
          "table; do all processes run the same program?");
  }
  SECTION("with another") {
    job.exits.failed(plain(5, 4));
    CHECK(job.exits.any_silent());
    CHECK(job.exits.verdict_of_early(1, "MPI_Init", "there").status == 4);
  }
  SECTION("but not behind the end of its protocol") {
    wire::ProcessExit exit = plain(5, 4);
    exit.ended = true;
    job.exits.failed(exit);
    CHECK_FALSE(job.exits.any_silent());
  }
}

}  // namespace charmtree::exit_record_test
