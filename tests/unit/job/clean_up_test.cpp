// SPDX-License-Identifier: Apache-2.0
#include "tree/job/clean_up.hpp"

#include "tests/unit/part_bench.hpp"

namespace charmtree::clean_up_test {

using namespace charmtree::proto;

namespace {
struct Bench final : test::PartBench {
  Bench() : PartBench(Role::below) {}
  template <class N>
  bool hears() const {
    return news.size() == 1 && holds_alternative<N>(news[0]);
  }
  CleanUp part;
};
}  // namespace

TEST_CASE("what is left is looked for until nobody waits for it", "[clean_up]") {
  Bench b;
  b.part.order({"job", 3}, b);
  CHECK(b.take<KillLeftovers>().size() == 1);
  b.part.on(LeftoversKilled{2, false}, b);
  CHECK(b.take<KillLeftovers>().at(0).host == 3);
  CHECK(b.news.empty());
  b.part.on(LeftoversKilled{0, true}, b);
  CHECK(b.take<KillLeftovers>().empty());
  CHECK(b.hears<HostIsClean>());
}

TEST_CASE("a launcher that was started to clean up says what it has killed, and ends", "[clean_up]") {
  Bench b;
  b.part.down(wire::Sweep{"job", 3}, b);
  CHECK(b.part.is_errand());
  CHECK(b.take<KillLeftovers>().at(0).job == "job");
  b.part.on(LeftoversKilled{2, true}, b);
  CHECK(get<wire::Swept>(b.take<Send>().at(0).message).killed == 2);
  CHECK(b.hears<ErrandDone>());
}

TEST_CASE("one that was sent to connect two cleans up where nobody waits", "[clean_up]") {
  Bench b;
  b.part.down(wire::Adopt{"job", 3, "socket"}, b);
  CHECK(b.take<Relay>().at(0).host == 3);
  b.part.on(NobodyWaits{}, b);
  CHECK(b.take<KillLeftovers>().at(0).host == 3);
}

TEST_CASE("words that are for somebody else change nothing", "[clean_up]") {
  Bench b;
  b.part.on(NobodyWaits{}, b);
  b.part.on(LeftoversKilled{0, false}, b);
  CHECK(b.actions.empty());
  CHECK_FALSE(b.part.is_errand());
}

}  // namespace charmtree::clean_up_test
