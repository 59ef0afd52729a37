// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/gather.hpp"

#include <catch2/catch.hpp>

namespace charmtree::gather_test {

using namespace charmtree::proto;

namespace {

constexpr Instant kNow{1s};
constexpr Gather::Progress kPartial{4, false, false}, kSettled{4, false, true}, kComplete{4, true, true};

wire::Facts entered(std::uint32_t processes, std::size_t kind = 0) {
  wire::Facts facts;
  facts.barrier[kind] = processes;
  return facts;
}

wire::Facts block(std::uint32_t host, std::uint32_t first) {
  wire::Facts facts;
  facts.registered = 2;
  facts.blocks = {{host, first, 1, {{1, {}}, {2, {}}}}};
  return facts;
}

}  // namespace

TEST_CASE("a barrier goes up once, when the whole subtree has entered", "[gather]") {
  Gather gather;
  for (int round = 0; round < 3; ++round) {
    gather.add(entered(3), kNow);
    CHECK_FALSE(gather.due(kComplete, kNow));
    CHECK(gather.next_deadline() == kNever);
    CHECK_FALSE(gather.due(kComplete, kNow + 1h));
    gather.add(entered(1), kNow);
    const auto facts = gather.due(kComplete, kNow);
    REQUIRE(facts);
    CHECK(facts->barrier[0] == 4);
    CHECK_FALSE(gather.due(kComplete, kNow + 1h));
    gather.released(BarrierKind::all);
  }
}

TEST_CASE("who enters a barrier below a subtree that has grown since it went up, goes up", "[gather]") {
  Gather gather;
  gather.add(entered(4), kNow);
  CHECK(gather.due(kComplete, kNow)->barrier[0] == 4);
  const Gather::Progress grown{6, false, false};
  gather.add(entered(1), kNow);
  CHECK_FALSE(gather.due(grown, kNow));
  gather.add(entered(1), kNow);
  const auto rest = gather.due(grown, kNow);
  REQUIRE(rest);
  CHECK(rest->barrier[0] == 2);
  gather.released(BarrierKind::all);
  gather.add(entered(5), kNow);
  CHECK_FALSE(gather.due(grown, kNow));  // the next round
}

TEST_CASE("kinds of barriers do not mix, and other news do not take an open one along", "[gather]") {
  Gather gather;
  gather.add(entered(2, 0), kNow);
  gather.add(entered(4, 1), kNow);
  const auto other = gather.due(kComplete, kNow);
  REQUIRE(other);
  CHECK(other->barrier[0] == 0);
  CHECK(other->barrier[1] == 4);
  wire::Facts news;
  news.exits = {{1, 3}};
  gather.add(news, kNow);
  const auto exits = gather.due(kComplete, kNow);
  REQUIRE(exits);
  CHECK(exits->barrier[0] == 0);
  gather.add(entered(2, 0), kNow);
  CHECK(gather.due(kComplete, kNow)->barrier[0] == 4);
}

TEST_CASE("a barrier that is not complete hurries nothing else", "[gather]") {
  Gather gather;
  wire::Facts news = entered(2);
  news.hosts_up = {1};
  gather.add(news, kNow);
  CHECK_FALSE(gather.due(kPartial, kNow));
  CHECK(gather.due(kPartial, kNow + Gather::kDelay)->barrier[0] == 0);
}

TEST_CASE("tuples go up in one message when the subtree is complete", "[gather]") {
  Gather gather;
  gather.add(block(1, 2), kNow);
  CHECK_FALSE(gather.due(kPartial, kNow));
  const auto count = gather.due(kPartial, kNow + Gather::kDelay);
  REQUIRE(count);  // that they have registered is news
  CHECK(count->registered == 2);
  CHECK(count->blocks.empty());
  gather.add(block(0, 0), kNow + 100ms);
  const auto facts = gather.due(kComplete, kNow + 100ms);
  REQUIRE(facts);
  CHECK(facts->blocks.size() == 2);
  CHECK(facts->registered == 2);
  CHECK_FALSE(gather.due(kComplete, kNow + 1h));
}

TEST_CASE("tuples that wait too long for the others go up alone", "[gather]") {
  Gather gather;
  gather.add(block(1, 2), kNow);
  (void)gather.due(kPartial, kNow + Gather::kDelay);
  CHECK(gather.next_deadline() == kNow + Gather::kBlocksDelay);
  const auto facts = gather.due(kPartial, kNow + Gather::kBlocksDelay);
  REQUIRE(facts);
  CHECK(facts->blocks.size() == 1);
  CHECK(gather.next_deadline() == kNever);
}

TEST_CASE("bad news go up at once, good news when they are complete or have waited", "[gather]") {
  Gather gather;
  wire::Facts up;
  up.hosts_up = {1};
  gather.add(up, kNow);
  CHECK_FALSE(gather.due(kPartial, kNow));
  CHECK(gather.next_deadline() == kNow + Gather::kDelay);
  CHECK(gather.due(kSettled, kNow)->hosts_up == std::vector<std::uint32_t>{1});
  gather.add(up, kNow);
  CHECK(gather.due(kPartial, kNow + Gather::kDelay));

  wire::Facts exit;
  exit.exits = {{2, 1}};
  gather.add(exit, kNow);
  CHECK(gather.due(kPartial, kNow));
  CHECK(gather.next_deadline() == kNever);
}

TEST_CASE("the last ending is not held back, whoever ended how", "[gather]") {
  Gather gather;
  wire::Facts one, bad;
  one.ended = 1;
  bad.exits = {{3, 1}};
  gather.add(one, kNow);
  gather.add(one, kNow);
  CHECK_FALSE(gather.due(kComplete, kNow));
  gather.add(bad, kNow);
  CHECK(gather.due(kComplete, kNow)->ended == 2);
  one.ended = 0;
  one.exited_ok = 1;
  for (const std::uint32_t process : {6U, 4U, 5U}) {
    one.first_ok = process;
    one.who_ended = {{process, process}};
    gather.add(one, kNow);
  }
  const auto facts = gather.due(kComplete, kNow);
  CHECK(facts->exited_ok == 3);
  CHECK(facts->first_ok == 4U);
  CHECK(facts->who_ended == std::vector<wire::ProcessSet::Range>{{4, 6}});
}

TEST_CASE("peers are counted with the ends of who has used them, and of nobody else", "[gather]") {
  Gather gather;
  wire::Facts facts;
  facts.exited_ok = 2;
  facts.peers = {2, 1, 3, 4};
  gather.add(facts, kNow);
  facts.exited_ok = 1;
  facts.peers = {1, 7, 7, 7};
  gather.add(facts, kNow);
  facts.peers = {2, 9, 9, 18};  // of more than have ended
  gather.add(facts, kNow);
  CHECK(gather.due(kComplete, kNow)->peers == wire::PeersUsed{3, 1, 7, 11});
}

TEST_CASE("endings that were asked for wait for company, but not for good", "[gather]") {
  Gather gather;
  wire::Facts facts;
  facts.ended = 3;
  facts.exits = {{3, 1}};
  gather.add(facts, kNow);
  Gather::Progress ending = kComplete;
  ending.ending = true;
  CHECK_FALSE(gather.due(ending, kNow));
  CHECK(gather.due(ending, kNow + Gather::kDelay)->exits.size() == 1);
}

TEST_CASE("of codes that come together that of the lowest process is kept", "[gather]") {
  Gather gather;
  wire::Facts facts;
  facts.ended = 2;
  for (const std::uint32_t process : {2U, 1U, 3U}) {
    facts.code = wire::Code{process, static_cast<std::int32_t>(process) + 10};
    gather.add(facts, kNow);
  }
  CHECK(gather.due(kComplete, kNow)->code == wire::Code{1, 11});
}

TEST_CASE("nothing to tell is not told", "[gather]") {
  Gather gather;
  gather.add({}, kNow);
  CHECK(gather.next_deadline() == kNever);
  CHECK_FALSE(gather.due(kComplete, kNow));
}

TEST_CASE("equal topologies of neighbours are one", "[gather]") {
  Gather gather;
  for (const std::uint32_t host : {4U, 2U, 9U, 3U, 5U}) {
    wire::Facts facts;
    facts.hosts_up = {host};
    facts.topologies = {{host, 1, {1, host == 5 ? 8U : 4U, 16}}};
    gather.add(std::move(facts), kNow);
  }
  const auto facts = gather.due(kSettled, kNow);
  REQUIRE(facts);
  CHECK(facts->hosts_up.size() == 5);
  CHECK(facts->topologies ==
        std::vector<wire::HostTopology>{{2, 3, {1, 4, 16}}, {5, 1, {1, 8, 16}}, {9, 1, {1, 4, 16}}});
}

TEST_CASE("before a loss is told, all but unfinished barriers goes up", "[gather]") {
  Gather gather;
  wire::Facts facts = entered(2);
  facts.exited_ok = 1;
  gather.add(facts, kNow);
  CHECK_FALSE(gather.due(kComplete, kNow));
  gather.hurry(kNow);
  const auto hurried = gather.due(kComplete, kNow);
  REQUIRE(hurried);
  CHECK(hurried->exited_ok == 1);
  CHECK(hurried->barrier[0] == 0);
  gather.add(entered(2), kNow);
  CHECK(gather.due(kComplete, kNow)->barrier[0] == 4);
}

}  // namespace charmtree::gather_test
