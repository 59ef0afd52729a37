// SPDX-License-Identifier: Apache-2.0
#include "tree/turn/process_ends.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "charmrun/report/json_parts.hpp"
#include "tests/unit/four_hosts.hpp"
#include "tests/unit/small_world.hpp"
#include "tree/job/judge.hpp"

namespace charmtree::process_ends_test {

using namespace charmtree::proto;
using namespace charmtree::test;

namespace {

constexpr Instant kNow{100s};

/// Eight plain processes on four hosts, all started.
struct Court {
  Court() : judge(job, hosts) {
    job.processes = 8;
    job.hosts = 4;
    judge.begin(kNow);
    wire::Facts facts;
    facts.hosts_up = {0, 1, 2, 3};
    judge.on(facts, kNow);
  }
  void exits(std::vector<wire::ProcessExit> exits, std::vector<wire::ProcessSet::Range> well = {}) {
    wire::Facts facts;
    facts.exits = std::move(exits);
    facts.who_ended = std::move(well);
    for (const auto& [first, last] : facts.who_ended) facts.exited_ok += last - first + 1;
    judge.on(facts, kNow);
  }
  wire::JobSpec job;
  std::vector<Host> hosts = four_hosts();
  Judge judge;
};

wire::ProcessExit ended_by_us(std::uint32_t process, std::uint8_t code, std::uint8_t signal = 0) {
  wire::ProcessExit exit{process, code, signal};
  exit.asked = true;
  return exit;
}

}  // namespace

TEST_CASE("one line names all that failed, by status", "[process_ends]") {
  ProcessEnds ends;
  for (const std::uint32_t process : {7U, 1U, 4U}) ends.add({EndKind::exit, 1}, {process, process});
  CHECK(ends.line() == "3 processes failed: 1,4,7 (exit status 1)");
  ends.add({EndKind::killed, 11}, {9, 9});
  ends.add({EndKind::exit, 2}, {2, 2});
  ends.add({EndKind::exit, 2}, {5, 5});
  ends.add({EndKind::stopped}, {10, 20});
  ends.add({EndKind::launcher}, {30, 31});
  CHECK(ends.line() ==
        "6 processes failed: 1,4,7 (exit status 1); 2,5 (exit status 2); 9 (signal 11, SIGSEGV)");
}

TEST_CASE("the line of those that failed has a bounded length, and needs several", "[process_ends]") {
  ProcessEnds ends;
  CHECK(ends.line().empty());
  ends.add({EndKind::exit, 1}, {0, 0});
  CHECK(ends.line().empty());
  for (std::uint32_t i = 1; i < 100'000; i += 2)
    ends.add({EndKind::exit, static_cast<std::uint8_t>(1 + i % 200)}, {i, i});
  CHECK(ends.line().size() <= (ProcessEnds::kMostWays + 1) * (ProcessEnds::kMostOfWay + 40));
  CHECK(ends.line().starts_with("50001 processes failed: 0"));
  CHECK(ends.line().ends_with(",... (exit status 14); others in other ways"));
}

TEST_CASE("each process ends once", "[process_ends]") {
  ProcessEnds ends;
  CHECK(ends.add({EndKind::exit, 1}, {3, 3}));
  CHECK_FALSE(ends.add({EndKind::killed, 9}, {3, 3}));
  ends.add_others({EndKind::well}, 5);
  CHECK(ends_json(ends).dump() == R"([{"end":"well","status":0,"number":4,"processes":[[0,2],[4,4]]},)"
                                  R"({"end":"exit","status":1,"number":1,"processes":[[3,3]]}])");
}

TEST_CASE("a job of any size that ends well is one entry", "[process_ends]") {
  ProcessEnds ends;
  ends.add_others({EndKind::well}, 100'000);
  CHECK(ends_json(ends).dump() == R"([{"end":"well","status":0,"number":100000,"processes":[[0,99999]]}])");
}

TEST_CASE("all that failed are told when the last has ended", "[process_ends]") {
  Court court;
  court.exits({{4, 2}, {1, 1}}, {{0, 0}, {2, 3}});
  CHECK_FALSE(court.judge.verdict());
  court.exits({{6, 1}}, {{5, 5}, {7, 7}});
  REQUIRE(court.judge.verdict());
  CHECK(court.judge.failures() == "3 processes failed: 1,6 (exit status 1); 4 (exit status 2)");
  const auto told = court.judge.exits().take_failures();
  REQUIRE(told.size() == 3);
  CHECK((told[0].process == 1 && told[0].host == 0 && told[0].how == "exited with status 1"));
  CHECK(court.judge.exits().take_failures().empty());
  CHECK(ends_json(court.judge.ends())[0]["processes"].dump() == "[[0,0],[2,3],[5,5],[7,7]]");
}

TEST_CASE("those that charmrun ends because of a failure have not failed", "[process_ends]") {
  Court court;
  court.exits({{1, 0, 11}, {3, 0, 11}});  // 3 before anybody could ask it
  REQUIRE(court.judge.verdict());
  court.exits({ended_by_us(0, 0, 15), ended_by_us(2, 7), ended_by_us(4, 0, 9)}, {{5, 5}});
  CHECK(court.judge.failures() == "2 processes failed: 1,3 (signal 11, SIGSEGV)");
  CHECK(
      court.judge.decision().aftermath() ==
      "the other 6 processes were ended because of that; process 2 exited with status 7, process 4 had to be "
      "killed");
  const Json ends = ends_json(court.judge.ends());
  REQUIRE(ends.size() == 3);
  CHECK((ends[0]["end"] == "well" && ends[0]["processes"].dump() == "[[5,5]]"));
  CHECK((ends[1]["status"] == 139 && ends[1]["signal"] == 11 &&
         ends[1]["processes"].dump() == "[[1,1],[3,3]]"));
  CHECK((ends[2]["end"] == "stopped" && ends[2]["processes"].dump() == "[[0,0],[2,2],[4,4],[6,7]]"));
}

TEST_CASE("several that abort are all named", "[process_ends]") {
  Court court;
  court.judge.on(wire::AbortUp{5, 1, "out of luck"});
  court.judge.on(wire::AbortUp{2, 1, "out of luck"});
  court.judge.on(wire::AbortUp{2, 1, "again"});
  CHECK(court.judge.failures() == "2 processes failed: 2,5 (aborted with status 1)");
}

TEST_CASE("of several that abort none is one of the others", "[process_ends]") {
  Court court;
  for (const std::uint32_t process : {4U, 5U, 6U, 5U}) court.judge.on(wire::AbortUp{process, 1, "MPI_Abort"});
  wire::ProcessExit asked{5, 1};  // as it has aborted: no other way to end
  asked.asked = true;
  court.exits({{4, 1}, asked});
  CHECK(court.judge.failures() == "3 processes failed: 4-6 (aborted with status 1)");
  CHECK(court.judge.decision().aftermath() == "the other 5 processes were ended because of that");
}

TEST_CASE("where each host has one process, the hosts of those that failed are named", "[process_ends]") {
  Court court;
  court.job.processes = 4;
  for (std::uint32_t i = 0; i < 4; ++i) court.hosts[i].first_process = i, court.hosts[i].processes = 1;
  court.exits({{0, 5}, {1, 5}, {3, 6}}, {{2, 2}});
  CHECK(court.judge.failures() ==
        "3 processes failed: 0-1 on n[1-2] (exit status 5); 3 on n4 (exit status 6)");
}

TEST_CASE("a whole job tells how every process ended", "[process_ends]") {
  SmallWorld world{{.hosts = 6, .slots = {3}, .shape = {2, 2}, .watched = true}};
  SECTION("of their own accord") {
    for (Actor& actor : world.actors) actor.kind = Actor::Kind::plain;
    world.actors[7].code = 3;
    world.actors[9].code = 3;
    world.actors[11].code = 4;
    world.run();
    REQUIRE(world.result);
    CHECK(world.said_anywhere("3 processes failed: 7,9 (exit status 3); 11 (exit status 4)", Tone::info));
    std::set<std::uint32_t> told;
    for (const Progress& each : world.progress) {
      for (const Progress::Failure& failure : each.failures) CHECK(told.insert(failure.process).second);
    }
    CHECK(told == std::set<std::uint32_t>{7, 9, 11});
  }
  SECTION("because of another one") {
    for (Actor& actor : world.actors) actor.fate = Actor::Fate::stays;
    world.actors[7].fate = Actor::Fate::exits;
    world.actors[7].signal = 11;
    world.run();
    REQUIRE(world.result);
    const auto& ways = world.result->why.ends.ways();
    REQUIRE(ways.contains({EndKind::stopped}));
    CHECK(ways.at({EndKind::stopped}).size() == 17);
    CHECK_FALSE(ways.contains({EndKind::well}));
  }
  std::size_t processes = 0;
  for (const auto& [way, who] : world.result->why.ends.ways()) processes += who.size();
  CHECK(processes == 18);
}

}  // namespace charmtree::process_ends_test
