// SPDX-License-Identifier: Apache-2.0
// How far a run has come, as one launcher hears and tells it; what is told when: gather_test.cpp.
#include "tree/job/gather_part.hpp"

#include "tests/unit/part_bench.hpp"
#include "tree/job/judge.hpp"

namespace charmtree::gather_part_test {

using namespace charmtree::proto;

namespace {

constexpr wire::ProcessSet::Range kTwo{4, 5}, kOne{5, 5};

struct Bench final : test::PartBench {
  explicit Bench(Role where = Role::root) : PartBench(where) { job.loss.recovery = wire::Recovery::go_on; }
  wire::Facts handed() {
    REQUIRE(handed_up.size() == 1);
    return get<wire::Facts>(handed_up.at(0));
  }
  StartupTimes times;
  GatherPart part{times};
};

}  // namespace

TEST_CASE("at the root facts go to the controller at once, and what they say of hosts is noted",
          "[gather_part]") {
  Bench b;
  const LinkId link = b.child();
  b.part.add(wire::Facts{}, b);
  CHECK(b.handed_up.empty());
  wire::Facts facts;
  facts.hosts_up = {0};
  facts.registered = 1;
  b.part.up(*b.launch.find(link), facts, b);
  CHECK(b.handed().hosts_up == std::vector<std::uint32_t>{0});
  CHECK(b.launch.subtree().find(0)->answered);
  CHECK(b.launch.find(link)->registered == 1);
  CHECK(b.part.progress().any_registered);
}

TEST_CASE("who has started a host is told with its answer, where somebody wants to know", "[gather_part]") {
  Bench b;
  const LinkId link = b.child();
  b.job.reports.watched = GENERATE(false, true);
  b.job.loss = {};
  wire::Facts facts;
  facts.hosts_up = {0};
  b.part.up(*b.launch.find(link), facts, b);
  CHECK(b.handed().started_by.size() == (b.job.reports.watched ? 1 : 0));
}

TEST_CASE("below the root facts wait for company, and are lost with the last way up", "[gather_part]") {
  Bench b(Bench::Role::below);
  b.child();
  wire::Facts facts;
  facts.hosts_up = {0};
  SECTION("there is a way") {
    b.part.add(facts, b);
    CHECK(b.handed_up.empty());
    CHECK(b.part.next_deadline() != kNever);
  }
  SECTION("one may come") {
    b.way = WayUp::awaited;
    b.part.add(facts, b);
    CHECK(b.part.next_deadline() != kNever);
  }
  SECTION("none will") {
    b.way = WayUp::gone;
    b.part.add(facts, b);
    CHECK(b.part.next_deadline() == kNever);
  }
}

TEST_CASE("a loss begins an epoch, and its processes are counted out once", "[gather_part]") {
  Bench b;
  const LinkId link = b.child();  // process 4
  b.child();                      // process 5
  b.launch.find(link)->crash_acks = 3;
  b.part.down(wire::Lost{1, {kOne}}, b);
  CHECK(b.part.progress().epoch == 1);
  CHECK(b.part.progress().gone == 1);
  CHECK(b.launch.find(link)->crash_acks == 0);
  CHECK(b.part.fresh({kTwo}).size() == 1);
  b.part.down(wire::Lost{2, {kTwo}}, b);
  CHECK(b.part.progress().gone == 2);
  CHECK(b.part.fresh({kTwo}).empty());
}

TEST_CASE("a new root begins where the launchers are that it has found", "[gather_part]") {
  Bench b;
  b.child();
  b.child();
  InheritedState inherited;
  inherited.epoch = 7;
  inherited.has_table = true;
  inherited.releases = {2, 1, 0};
  inherited.lost.add(kOne);
  b.part.take_over(inherited, b);
  const RunProgress& progress = b.part.progress();
  CHECK(progress.epoch == 7);
  CHECK(progress.has_table);
  CHECK(progress.releases == inherited.releases);
  CHECK(progress.gone == 1);
  CHECK(b.launch.subtree().find(0)->registered);
}

TEST_CASE("tables and releases are counted", "[gather_part]") {
  Bench b;
  b.part.down(wire::TableDown{});
  b.part.down(wire::Release{1});
  b.part.down(wire::Release{1});
  CHECK(b.part.progress().has_table);
  CHECK(b.part.progress().releases == std::array<std::uint32_t, 3>{0, 2, 0});
}

TEST_CASE("another parent hears again who is lost", "[gather_part]") {
  Bench b(Bench::Role::below);
  b.child();
  wire::LinkLost lost{0, {Errc::link_lost, Phase::run, "gone", {}}, {kOne}};
  b.part.add(lost, b);
  b.part.remember(lost, b);
  CHECK_FALSE(b.part.progress().below_lost_launchers.missing(kTwo).empty());
  CHECK(b.part.progress().below_lost_launchers.missing(kOne).empty());
  b.part.adopted(b);
  REQUIRE(b.handed_up.size() == 1);
  CHECK(get<wire::LinkLost>(b.handed_up[0]).host == 0);
  SECTION("but not of those of whom everybody has been told") {
    b.handed_up.clear();
    b.part.down(wire::Lost{1, {kOne}}, b);
    b.part.adopted(b);
    CHECK(b.handed_up.empty());
  }
}

}  // namespace charmtree::gather_part_test
