// SPDX-License-Identifier: Apache-2.0
#include "stacks/stack_set.hpp"

#include <catch2/catch.hpp>

#include "stacks/members.hpp"
#include "stacks/stack_frames.hpp"

namespace charmtree::stack_set_test {

using namespace charmtree::stacks;
using Ranges = StackSet::Ranges;
using stacks::Motion;

TEST_CASE("processes with the same stack are one group, the largest first", "[stacks]") {
  StackSet set;
  set.add(3, {"main", "spin"}, Motion::computes);
  for (const std::uint32_t process : {0U, 1U, 2U, 7U}) set.add(process, {"main", "wait"}, Motion::waits);
  set.add(5, {"main", "wait"}, Motion::computes);
  const stacks::Stacks all = set.take();
  REQUIRE(all.groups.size() == 3);
  CHECK((all.groups[0].processes == 4 && all.groups[0].which == Ranges{{0, 2}, {7, 7}}));
  CHECK(all.names[all.groups[0].frames.at(1)] == "wait");
  CHECK(is_sound(all));
  CHECK(set.empty());
}

TEST_CASE("what hosts tell is added up by the names of functions", "[stacks]") {
  StackSet one, other;
  one.add(0, {"main", "a"}, Motion::waits);
  other.add(9, {"start"}, Motion::waits);
  other.add(8, {"main", "a"}, Motion::waits);
  one.add(other.take());
  one.add_unread({{4, 6}}, "its launcher is lost");
  const stacks::Stacks all = one.take();
  REQUIRE(all.groups.size() == 3);
  CHECK((all.groups[0].motion == Motion::unread && all.groups[0].processes == 3));
  CHECK(all.names[all.groups[0].frames.at(0)] == "its launcher is lost");
  CHECK((all.groups[1].processes == 2 && all.groups[1].which == Ranges{{0, 0}, {8, 8}}));
}

TEST_CASE("of many scattered processes the lowest are named, and all are counted", "[stacks]") {
  StackSet set;
  for (std::uint32_t i = 0; i < 1000; ++i) set.add(2 * i, {"main"}, Motion::waits);
  const stacks::Stacks all = set.take();
  REQUIRE(all.groups.size() == 1);
  CHECK(all.groups[0].processes == 1000);
  CHECK(all.groups[0].which.size() == wire::kMostGroupRanges);
  CHECK((all.groups[0].which.front().first == 0 && is_sound(all)));
}

TEST_CASE("too many groups lose their innermost frames, and no process", "[stacks]") {
  StackSet set;
  for (std::uint32_t i = 0; i < 2000; ++i)
    set.add(i, {"main", "step" + std::to_string(i % 100), "f" + std::to_string(i)}, Motion::waits);
  const stacks::Stacks all = set.take();
  CHECK(all.groups.size() == 100);
  CHECK((all.groups.front().frames.size() == 2 && is_sound(all)));
  std::uint32_t processes = 0;
  for (const stacks::StackGroup& group : all.groups) processes += group.processes;
  CHECK(processes == 2000);
}

TEST_CASE("too many names lose the innermost frames, too", "[stacks]") {
  StackSet set;
  for (std::uint32_t i = 0; i < 400; ++i) {
    Frames frames{"main"};
    for (std::uint32_t depth = 0; depth < 5; ++depth) frames.push_back("f" + std::to_string(5 * i + depth));
    set.add(i, frames, Motion::waits);
  }
  const stacks::Stacks all = set.take();
  CHECK((all.groups.size() == 400 && all.groups.front().frames.size() == 3));
  CHECK(all.names.size() <= stacks::kMostStackNames);
}

TEST_CASE("of a deep stack the middle is left out", "[stacks]") {
  StackSet set;
  Frames frames{"main"};
  for (int i = 0; i < 1000; ++i) frames.push_back("recurse");
  frames.push_back("leaf");
  set.add(0, frames, Motion::waits);
  const stacks::Stacks all = set.take();
  const stacks::StackGroup& group = all.groups.at(0);
  CHECK(group.frames.size() == stacks::kMostStackFrames);
  CHECK((all.names[group.frames.front()] == "main" && all.names[group.frames.back()] == "leaf"));
  CHECK(std::count(all.names.begin(), all.names.end(), "...") == 1);
}

TEST_CASE("what goes up grows with the groups, not with the processes", "[stacks]") {
  const auto bytes_at_root = [](std::uint32_t hosts) {
    constexpr std::uint32_t kEach = 64, kGroups = 40;
    StackSet root;
    for (std::uint32_t host = 0; host < hosts; ++host) {
      StackSet own;
      for (std::uint32_t process = host * kEach; process < (host + 1) * kEach; ++process) {
        const std::uint32_t group = process * 2654435761U % kGroups;  // scattered
        own.add(process, {"main", "step" + std::to_string(group % 7), "f" + std::to_string(group)},
                Motion::waits);
      }
      root.add(own.take());
    }
    const stacks::StacksUp answer{1, root.take()};
    CHECK(answer.stacks.groups.size() == kGroups);
    return wire::encode_frames(answer)->size();
  };
  const std::size_t few = bytes_at_root(64), many = bytes_at_root(1024);
  CHECK(many < few + few / 4);  // larger numbers
}

TEST_CASE("the largest answer fits into its message", "[stacks]") {
  stacks::StacksUp answer{UINT32_MAX, {}};
  for (std::size_t i = 0; i < stacks::kMostStackNames; ++i)
    answer.stacks.names.push_back(std::string(stacks::kMostStackName - 4, 'x') + std::to_string(1000 + i));
  for (std::uint32_t i = 0; i < stacks::kMostStackGroups; ++i) {
    stacks::StackGroup group{{}, Motion::unread, wire::kMostGroupRanges, {}};
    for (std::uint32_t frame = 0; frame < stacks::kMostStackFrames; ++frame)
      group.frames.push_back(stacks::kMostStackNames - 1 - frame);
    for (std::uint32_t range = 0; range < wire::kMostGroupRanges; ++range)
      group.which.push_back({4'000'000'000U + 2 * range, 4'000'000'000U + 2 * range});
    answer.stacks.groups.push_back(std::move(group));
  }
  CHECK(is_sound(answer.stacks));
  const auto bytes = wire::encode_frames(answer);
  REQUIRE(bytes);
  CHECK(bytes->size() <= kMaxStacks + wire::kFrameHeader);
}

}  // namespace charmtree::stack_set_test
