// SPDX-License-Identifier: Apache-2.0
#include "stacks/component.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/part_bench.hpp"

namespace charmtree::stacks_test {

using namespace charmtree::proto;
using namespace charmtree::stacks;
using test::PartBench;

namespace {

stacks::StacksUp answer(std::uint32_t number, std::uint32_t process, std::string name = "work") {
  return {number, {{std::move(name)}, {{{0}, Motion::waits, 1, {{process, process}}}}}};
}

std::vector<stacks::StacksUp> answers(PartBench& b) {
  std::vector<stacks::StacksUp> all;
  for (const wire::Message& each : std::exchange(b.handed_up, {})) all.push_back(get<stacks::StacksUp>(each));
  return all;
}

}  // namespace

TEST_CASE("what all below have told goes up at once", "[stacks]") {
  PartBench b{PartBench::Role::root};
  const LinkId one = b.child(), other = b.child();
  StacksComponent part;
  part.down({1, false, false, 5s}, b);
  part.up(one, answer(1, 4), b);
  part.turn(b);
  CHECK(answers(b).empty());
  part.up(other, answer(1, 5), b);
  part.turn(b);
  const auto told = answers(b);
  REQUIRE(told.size() == 1);
  CHECK(
      (told[0].number == 1 && told[0].stacks.groups.size() == 1 && told[0].stacks.groups[0].processes == 2));
  CHECK(part.next_real_deadline() == kNever);
}

TEST_CASE("who has less time than the one above asks those below, with less time still", "[stacks]") {
  PartBench b{PartBench::Role::below};
  b.child();
  StacksComponent part;
  part.down({7, true, false, 5s}, b);
  REQUIRE(b.handed_to_all.size() == 1);
  const auto& asked = get<stacks::StacksWanted>(b.handed_to_all[0]);
  CHECK((asked.number == 7 && asked.raw && asked.within == 5s - StacksComponent::kLevel));
  CHECK(part.next_real_deadline() == b.real_now() + 5s);
}

TEST_CASE("who does not answer in time is not waited for, and is told as such", "[stacks]") {
  PartBench b{PartBench::Role::below};
  const LinkId one = b.child(), silent = b.child();
  StacksComponent part;
  part.down({1, false, false, 5s}, b);
  part.up(one, answer(1, 4), b);
  b.at(b.real_now() + 5s);
  part.turn(b);
  const auto told = answers(b);
  REQUIRE(told.size() == 1);
  REQUIRE(told[0].stacks.groups.size() == 2);
  const auto unread = std::find_if(told[0].stacks.groups.begin(), told[0].stacks.groups.end(),
                                   [](const auto& each) { return each.motion == Motion::unread; });
  REQUIRE(unread != told[0].stacks.groups.end());
  CHECK(unread->which == StackSet::Ranges{{5, 5}});
  CHECK(told[0].stacks.names[unread->frames.at(0)] == "its launcher has not answered in time");
  part.up(silent, answer(1, 5), b);
  part.turn(b);
  CHECK(answers(b).empty());
}

TEST_CASE("a child tells of its own processes, once, and of no more than it has", "[stacks]") {
  PartBench b{PartBench::Role::root};
  const LinkId liar = b.child();
  b.child();
  StacksComponent part;
  part.down({1, false, false, 5s}, b);
  part.up(liar, answer(1, 5), b);  // another one's
  part.up(liar, answer(2, 4), b);  // not asked
  part.up(liar, {1, {{"work"}, {{{0}, Motion::waits, 1000, {{4, 4}}}}}}, b);
  part.turn(b);
  CHECK(answers(b).empty());
  b.at(b.real_now() + 6s);
  part.turn(b);
  const auto told = answers(b);
  REQUIRE(told.size() == 1);
  REQUIRE(told[0].stacks.groups.size() == 1);
  CHECK((told[0].stacks.groups[0].motion == Motion::unread && told[0].stacks.groups[0].processes == 2));
}

TEST_CASE("a child that is lost meanwhile is not waited for", "[stacks]") {
  PartBench b{PartBench::Role::root};
  const LinkId lost = b.child();
  StacksComponent part;
  part.down({1, false, false, 5s}, b);
  b.launch.find_up(lost)->lost();
  part.turn(b);
  const auto told = answers(b);
  REQUIRE(told.size() == 1);
  CHECK(told[0].stacks.names.at(0) == "its launcher is lost");
}

}  // namespace charmtree::stacks_test
