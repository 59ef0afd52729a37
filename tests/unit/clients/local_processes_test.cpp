// SPDX-License-Identifier: Apache-2.0
// The processes of a host, many of which have joined.
#include "tree/clients/local_processes.hpp"

#include <catch2/catch.hpp>
#include <numeric>

namespace charmtree::local_processes_test {

using namespace charmtree::proto;
using Ranges = LocalProcesses::Ranges;

namespace {

LocalProcesses with(std::initializer_list<std::uint32_t> joined) {
  LocalProcesses local{4, 3, 100};
  for (const std::uint32_t process : joined) local.joined.add(process);
  return local;
}

}  // namespace

TEST_CASE("processes that join have the ranks behind the first ones, in the order in which they came",
          "[local_processes]") {
  const LocalProcesses local = with({50, 51, 9, 10, 0, 52});
  const std::vector<std::uint32_t> by_rank{4, 5, 6, 50, 51, 9, 10, 0, 52};
  REQUIRE(local.size() == by_rank.size());
  for (std::uint32_t rank = 0; rank < by_rank.size(); ++rank) {
    CHECK(local.at(rank) == by_rank[rank]);
    CHECK(local.rank_of(by_rank[rank]) == rank);
    CHECK(local.contains(by_rank[rank]));
  }
  for (const std::uint32_t other : {1U, 3U, 7U, 8U, 11U, 49U, 53U, UINT32_MAX})
    CHECK_FALSE(local.contains(other));
  CHECK(local.ranges() == Ranges{{4, 6}, {50, 51}, {9, 10}, {0, 0}, {52, 52}});
  CHECK(LocalProcesses{}.ranges().empty());
}

TEST_CASE("what of ranges is on the host comes rising and once", "[local_processes]") {
  const LocalProcesses local = with({50, 51, 9, 10, 0, 52, 7});
  CHECK(local.among({{0, UINT32_MAX}}) == std::vector<std::uint32_t>{0, 4, 5, 6, 7, 9, 10, 50, 51, 52});
  CHECK(local.ranges_among({{0, UINT32_MAX}}) == Ranges{{0, 0}, {4, 7}, {9, 10}, {50, 52}});
  CHECK(local.among({{51, 60}, {5, 9}}) == std::vector<std::uint32_t>{5, 6, 7, 9, 51, 52});
  CHECK(local.among({{50, 51}, {51, 51}, {0, 50}}) ==
        std::vector<std::uint32_t>{0, 4, 5, 6, 7, 9, 10, 50, 51});
  CHECK(local.count_among({{5, 9}, {51, 60}}) == 6);
  CHECK(local.count_among({{50, 51}, {51, 51}}) == 2);
  CHECK(local.count_among({{11, 49}}) == 0);
  CHECK(LocalProcesses{}.among({{0, 9}}).empty());
}

TEST_CASE("processes that are spawned cost a run for each world, however many they are",
          "[local_processes]") {
  constexpr std::uint32_t kWorlds = 100, kEach = 1000;  // on every other number: those of two hosts
  LocalProcesses local{0, 1, 1};
  for (std::uint32_t world = 0; world < kWorlds; ++world) {
    for (std::uint32_t i = 0; i < kEach; ++i) local.joined.add(1 + world * 2 * kEach + i);
  }
  CHECK(local.size() == 1 + kWorlds * kEach);
  CHECK(local.joined.runs().size() == kWorlds);
  CHECK(local.rank_of(1 + 50 * 2 * kEach + 7) == 1 + 50 * kEach + 7);
  CHECK(local.ranges_among({{0, 2 * kWorlds * kEach}}).size() == kWorlds);
}

}  // namespace charmtree::local_processes_test
