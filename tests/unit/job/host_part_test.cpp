// SPDX-License-Identifier: Apache-2.0
// What reaches the processes of a host, and which they are; what they do: host_processes_test.cpp.
#include "tree/job/host_part.hpp"

#include "tests/unit/part_bench.hpp"

namespace charmtree::host_part_test {

using namespace charmtree::proto;

namespace {

/// Host 0 with the processes 0 and 1, and a child with process 4.
struct Bench final : test::PartBench {
  explicit Bench(std::uint32_t processes = 2) : PartBench(Role::below) {
    below = child();
    self.processes = processes;
    place = {std::make_shared<wire::JobSpec>(job), self, 1};
    part.begin(true, *this);
  }
  Seat seat() override {
    return {*place.job, place.self, launch, part.processes(), progress, place.level, is_ending, nullptr};
  }
  bool is_here(std::uint32_t process) const override { return part.contains(process); }
  void ready() {
    part.on(Prepared{}, *this);
    part.spawn(*this);
  }
  std::size_t spawned() { return take<Spawn>().size(); }

  LinkId below = 0;
  proto::Place place;
  StartupTimes times;
  HostPart part{place, times};
};

wire::Numbers numbers(std::vector<wire::Share> shares) {
  return {wire::encode(shares), 1};
}

}  // namespace

TEST_CASE("processes are started once their host is ready", "[host_part]") {
  Bench b;
  CHECK(b.take<Prepare>().size() == 1);
  b.part.spawn(b);
  CHECK(b.spawned() == 0);
  b.ready();
  CHECK(b.spawned() > 0);
  CHECK(b.part.contains(1));
  CHECK_FALSE(b.part.contains(4));
}

TEST_CASE("where the last run left something nothing is started", "[host_part]") {
  Bench b;
  b.actions.clear();
  b.part.begin(false, b);
  CHECK(b.actions.empty());
  CHECK(b.part.processes()->failed());
  REQUIRE(b.told_up.size() == 1);
  CHECK(get<wire::Facts>(b.told_up[0]).hosts_failed.size() == 1);
}

TEST_CASE("a message for one process is heard here, or goes on to its host", "[host_part]") {
  Bench b;
  b.part.down(wire::Receipt{4}, b);
  REQUIRE(b.handed_to_process.size() == 1);
  CHECK(b.handed_to_process[0].first == 4);
  b.part.down(wire::Receipt{1}, b);
  CHECK(b.handed_to_process.size() == 1);
}

TEST_CASE("numbers that come late are taken once, and start the processes", "[host_part]") {
  Bench b(0);
  b.ready();
  CHECK(b.spawned() == 0);
  SECTION("in time") {
    b.part.down(numbers({{0, 0, 3}, {1, 3, 1}}), b);
    CHECK(b.place.self.processes == 3);
    CHECK(b.place.job->processes == 4);
    CHECK(b.progress.has_numbers);
    b.part.spawn(b);
    CHECK(b.spawned() > 0);
    b.part.down(numbers({{0, 0, 1}}), b);
    CHECK(b.place.self.processes == 3);
  }
  SECTION("when the job ends") {
    b.is_ending = true;
    b.part.down(numbers({{0, 0, 3}}), b);
    CHECK(b.place.self.processes == 0);
  }
  SECTION("that nobody can read") {
    b.part.down(wire::Numbers{std::make_shared<std::string>("?"), 1}, b);
    CHECK(b.place.self.processes == 0);
  }
}

TEST_CASE("processes that move here are ours", "[host_part]") {
  Bench b;
  CHECK_FALSE(b.part.contains(4));
  b.part.down(wire::Moved{{{0, 4, 1}}}, b);
  CHECK(b.part.contains(4));
}

TEST_CASE("queue pairs go to the host that they are for, down or up", "[host_part]") {
  Bench b;
  wire::QueuePairs block;
  SECTION("below") {
    block.first_target = 4;
    b.part.route(block, b);
    REQUIRE(b.handed_to_process.size() == 1);
    CHECK(holds_alternative<wire::QueuePairsDown>(b.handed_to_process[0].second));
  }
  SECTION("elsewhere") {
    block.first_target = 99;
    b.part.route(block, b);
    REQUIRE(b.handed_up.size() == 1);
    CHECK(holds_alternative<wire::QueuePairsUp>(b.handed_up[0]));
  }
  SECTION("elsewhere, and there is no way") {
    block.first_target = 99;
    b.way = WayUp::gone;
    b.part.route(block, b);
    CHECK(b.handed_up.empty());
  }
}

TEST_CASE("a process that has ended is told to the other parts", "[host_part]") {
  Bench b;
  b.ready();
  b.part.on(Spawned{0}, b);
  b.news.clear();
  b.part.on(ProcessExited{0, 0, 0}, b);
  REQUIRE(b.news.size() == 1);
  CHECK(get<ProcessGone>(b.news[0]).process == 0);
  b.part.on(ProcessExited{99, 0, 0}, b);  // none of ours
  CHECK(b.news.size() == 1);
}

}  // namespace charmtree::host_part_test
