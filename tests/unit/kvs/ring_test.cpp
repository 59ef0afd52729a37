// SPDX-License-Identifier: Apache-2.0
#include "kvs/ring/component.hpp"

#include "tests/unit/part_bench.hpp"

namespace charmtree::ring_test {

using namespace charmtree::kvs;
using namespace charmtree::proto;
using Role = test::PartBench::Role;
using Runs = std::vector<wire::RingRun>;
using Ends = std::vector<wire::RingEnds>;

namespace {

/// Each process gives its number.
wire::RingRun run(std::uint32_t first, std::uint32_t last) {
  return {first, last, std::to_string(first), std::to_string(last)};
}

/// A launcher with two children, of one process each: 4 and 5. Its own host has 0 to 3. The root's host has
/// no processes; tests have 0 to 3 enter there all the same.
struct Bench : test::PartBench {
  explicit Bench(Role where) : PartBench(where) {
    job.processes = 6;
    self.processes = 4;
    if (where == Role::below) own.emplace(std::make_shared<wire::JobSpec>(job), self);
  }
  Seat seat() override {
    Seat seat = PartBench::seat();
    seat.processes = own ? &*own : nullptr;
    return seat;
  }
  void enter(LinkId link, Runs runs, std::uint32_t number = 1) {
    part.up(link, {number, progress.epoch, std::move(runs)}, *this);
    part.turn(*this);
  }
  void enter_here(Runs runs = {run(0, 3)}) {
    part.on({1, std::move(runs)}, *this);
    part.turn(*this);
  }
  Runs up() {
    Runs all;
    for (const wire::Message& each : std::exchange(handed_up, {})) {
      const auto& runs = get<RingUp>(each).runs;
      all.insert(all.end(), runs.begin(), runs.end());
    }
    return all;
  }
  Ends down(LinkId link) {
    Ends all;
    for (const auto& [to, message] : handed_down) {
      const auto& ends = get<RingDown>(message).ends;
      if (to == link) all.insert(all.end(), ends.begin(), ends.end());
    }
    return all;
  }
  /// Returns what the client servers of this host get, if the ring is over for them.
  std::optional<RingDone> end(const RingDown& message) {
    news.clear();
    part.down(message, *this);
    return news.empty() ? std::nullopt : std::optional{get<RingDone>(news.at(0))};
  }
  void begin_epoch() {
    ++progress.epoch;
    part.turn(*this);
  }

  std::optional<HostProcesses> own;
  RingComponent part;
  LinkId first = child(), second = child();
};

}  // namespace

TEST_CASE("one message goes up, of the ends of all that are below", "[ring]") {
  Bench b{Role::below};
  b.enter(b.second, {run(5, 5)});
  b.enter_here();
  CHECK(b.up().empty());
  b.enter(b.first, {run(4, 4)});
  CHECK(b.up() == Runs{run(0, 5)});
  b.part.turn(b);
  CHECK(b.up().empty());
  const auto own = b.end({1, 0, {{0, "9", "6"}}});
  REQUIRE(own);
  CHECK(own->ends == Ends{{0, "9", "4"}});
  CHECK(b.down(b.first) == Ends{{4, "3", "5"}});
  CHECK(b.down(b.second) == Ends{{5, "4", "6"}});
  CHECK_FALSE(b.end({1, 0, {{0, "9", "6"}}}));
}

TEST_CASE("the root closes the ring", "[ring]") {
  Bench b{Role::root};
  b.enter(b.first, {run(4, 4)});
  b.enter(b.second, {run(5, 5)});
  CHECK(b.handed_down.empty());
  b.enter_here();
  CHECK(b.down(b.first) == Ends{{4, "3", "5"}});
  CHECK(b.down(b.second) == Ends{{5, "4", "0"}});
}

TEST_CASE("where numbers below are torn apart, each run has its ends", "[ring]") {
  Bench b{Role::below};
  b.job.processes = 99;
  b.enter(b.first, {run(4, 4)});
  b.enter(b.second, {run(5, 5)});
  b.enter_here({run(0, 1), run(20, 21)});
  CHECK(b.up() == Runs{run(0, 1), run(4, 5), run(20, 21)});
  const auto own = b.end({1, 0, {{20, "19", "22"}, {4, "3", "6"}, {0, "98", "2"}}});
  REQUIRE(own);
  CHECK(own->ends == Ends{{0, "98", "2"}, {20, "19", "22"}});
  CHECK(b.down(b.second) == Ends{{5, "4", "6"}});
}

TEST_CASE("what came before an epoch is void, and hosts enter again", "[ring]") {
  Bench b{Role::below};
  b.job.loss.recovery = wire::Recovery::go_on;
  b.enter_here();
  b.enter(b.first, {run(4, 4)});
  b.begin_epoch();
  b.enter(b.second, {run(5, 5)});
  CHECK(b.up().empty());
  b.part.up(b.first, {1, 0, {run(4, 4)}}, b);  // was on its way
  b.part.turn(b);
  CHECK(b.up().empty());
  b.enter(b.first, {run(4, 4)});
  CHECK(b.up() == Runs{run(0, 5)});
  CHECK_FALSE(b.end({1, 0, {{0, "9", "6"}}}));  // from before
  REQUIRE(b.end({1, 1, {{0, "9", "6"}}}));
  b.begin_epoch();  // others may not be out of it
  b.enter(b.first, {run(4, 4)});
  b.enter(b.second, {run(5, 5)});
  CHECK(b.up() == Runs{run(0, 5)});
  CHECK(b.given_up.empty());
}

TEST_CASE("who comes later is said by itself, and each run has its own ends", "[ring]") {
  Bench b{Role::below};
  b.enter_here();
  b.enter(b.first, {run(4, 4)});
  b.enter(b.second, {run(5, 5)});
  CHECK(b.up() == Runs{run(0, 5)});
  const LinkId third = b.child();
  b.enter(third, {run(6, 6)});
  CHECK(b.up() == Runs{run(6, 6)});
  REQUIRE(b.end({1, 0, {{6, "5", "7"}, {0, "9", "6"}}}));
  CHECK(b.down(third) == Ends{{6, "5", "7"}});
  CHECK(b.down(b.second) == Ends{{5, "4", "6"}});
  CHECK(b.given_up.empty());
}

TEST_CASE("a ring goes on when the host that it waited for is another launcher's", "[ring]") {
  Bench b{Role::below};
  b.enter_here();
  b.enter(b.first, {run(4, 4)});
  CHECK(b.up().empty());
  b.launch.subtree().remove(1);
  b.part.turn(b);
  CHECK(b.up() == Runs{run(0, 4)});
}

TEST_CASE("with a lost process no ring goes on", "[ring]") {
  Bench b{Role::below};
  b.enter(b.first, {run(4, 4)});
  b.progress.lost.add(5);
  b.begin_epoch();
  b.enter(b.first, {run(4, 4)});
  CHECK((b.up().empty() && b.given_up.empty()));
}

TEST_CASE("a child speaks for those below it, once, and for few rings", "[ring]") {
  const auto lies = [](const Runs& runs, std::uint32_t number = 1) {
    Bench b{Role::below};
    b.enter(b.first, {run(4, 4)}, 77);
    b.enter(b.first, runs, number);
    return !b.given_up.empty();
  };
  CHECK_FALSE(lies({run(4, 4)}));
  CHECK(lies({run(4, 4)}, 77));
  CHECK(lies({run(5, 5)}));
  CHECK(lies({run(3, 4)}));
  CHECK(lies({run(4, 5)}));
  CHECK(lies({run(77, 77)}));
  CHECK(lies({}));
  Bench b{Role::below};
  for (std::uint32_t number = 1; number <= RingComponent::kMostAtOnce; ++number)
    b.enter(b.first, {run(4, 4)}, number);
  CHECK(b.given_up.empty());
  b.enter(b.first, {run(4, 4)}, 1000);
  CHECK_FALSE(b.given_up.empty());
}

}  // namespace charmtree::ring_test
