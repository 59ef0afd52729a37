// SPDX-License-Identifier: Apache-2.0
// What a root that takes over learns from those whom it finds; whole trees: node_takeover_test.cpp.
#include "health/takeover.hpp"

#include "tests/unit/part_bench.hpp"

namespace charmtree::takeover_test {

using namespace charmtree::proto;

namespace {

constexpr wire::ProcessSet::Range kFirst{4, 4}, kSecond{5, 5};

wire::Claimed heir(std::uint32_t epoch, std::vector<wire::ProcessSet::Range> lost,
                   std::array<std::uint32_t, 3> releases) {
  return {"", epoch, std::move(lost), releases, epoch > 0};
}

struct Bench final : test::PartBench {
  Bench() : PartBench(Role::root) {
    behind = child();
    ahead = child();
    part.found(behind, heir(1, {kFirst}, {1, 2, 0}));
    part.found(ahead, heir(2, {kFirst, kSecond}, {2, 2, 0}));
  }
  health::Takeover part{{}};
  LinkId behind = 0, ahead = 0;
};

}  // namespace

TEST_CASE("what one launcher had been told is true for all", "[takeover]") {
  const Bench b;
  const InheritedState inherited = b.part.inherited();
  CHECK(inherited.epoch == 2);
  CHECK(inherited.has_table);
  CHECK(inherited.releases == std::array<std::uint32_t, 3>{2, 2, 0});
  CHECK(inherited.lost.missing(kFirst).empty());
  CHECK(inherited.lost.missing(kSecond).empty());
}

TEST_CASE("each hears what others had heard, and it had not", "[takeover]") {
  Bench b;
  b.part.even_out(b.part.inherited(), b);
  REQUIRE(b.handed_down.size() == 2);
  CHECK(b.handed_down[0].first == b.behind);
  CHECK(get<wire::Release>(b.handed_down[0].second).kind == 0);
  CHECK(b.handed_down[1].first == b.behind);
  const auto& lost = get<wire::Lost>(b.handed_down[1].second);
  CHECK(lost.epoch == 2);
  CHECK(lost.processes == std::vector{kSecond});
}

TEST_CASE("those who were not found are told as lost, unless the last root has done so", "[takeover]") {
  Bench b;
  const Error gone{Errc::link_lost, Phase::run, "gone", {}};
  b.part.lost({7, gone, {kFirst}});
  b.part.lost({8, gone, {{9, 9}}});
  b.part.lost({9, gone, {}});  // it had no processes
  const auto untold = b.part.untold(b.part.inherited());
  REQUIRE(untold.size() == 2);
  CHECK(untold[0].host == 8);
  CHECK(untold[1].host == 9);
}

TEST_CASE("the first that nobody could ask is what the user reads", "[takeover]") {
  health::Takeover part{{}};
  CHECK_FALSE(part.has_found_any());
  CHECK(part.unreached().empty());
  part.unreached("a: no route");
  part.unreached("b: no route");
  CHECK(part.unreached() == "a: no route");
}

TEST_CASE("the tree is kept once the launch is over, and again when it has changed", "[takeover]") {
  Bench b;
  b.job.loss.keep_alive = 1h;
  health::KeptTree kept;
  const auto times = [&] {
    kept.keep(b);
    return b.take<KeepTree>().size();
  };
  b.progress.any_registered = true;
  CHECK(times() == 0);  // tuples have gone up
  b.progress.has_table = true;
  CHECK(times() == 1);
  CHECK(times() == 0);
  kept.changed();
  b.is_ending = true;
  CHECK(times() == 0);
  b.is_ending = false;
  CHECK(times() == 1);
  kept.changed();
  b.job.loss.keep_alive = Duration{0};
  CHECK(times() == 0);
}

}  // namespace charmtree::takeover_test
