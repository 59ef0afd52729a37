// SPDX-License-Identifier: Apache-2.0
// Verbs clients: each gets from every other one the queue pair that was made for it, over every tree.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tests/unit/charm_capture.hpp"
#include "tests/unit/small_world.hpp"
#include "tree/job/queue_pairs.hpp"

namespace charmtree::node_queue_pairs_test {

using namespace charmtree::proto;
using namespace charmtree::test;
using charm_capture::hex;

namespace {

/// Process j gives lid 7, qpn j and, as psn, the process that the queue pair is for.
std::string expected(std::uint32_t process, std::uint32_t processes) {
  std::string data;
  for (std::uint32_t from = 0; from < processes; ++from) {
    data += from == process ? hex(fmt::format("{:08x} 00000000 00000000 00000000", from))
                            : hex(fmt::format("{:08x} 00000007 {:08x} {:08x}", from, from, process));
  }
  return data;
}

wire::NodeTable table_of(const std::vector<std::uint32_t>& counts) {
  wire::NodeTable table{0, 1, {}};
  std::uint32_t first = 0;
  for (const std::uint32_t count : counts) {
    table.blocks.push_back({static_cast<std::uint32_t>(table.blocks.size()), first, 1,
                            std::vector<wire::Tuple>(count, {0, {}})});
    first += count;
  }
  return table;
}

}  // namespace

TEST_CASE("queue pairs of verbs clients reach whom they are for, over every tree", "[node]") {
  for (const auto& [hosts, slots] :
       {std::pair{1U, 1U}, {1U, 2U}, {2U, 1U}, {5U, 1U}, {3U, 2U}, {9U, 2U}, {17U, 1U}}) {
    for (const wire::Shape shape : {wire::Shape{0, 0}, {1, 0}, {2, 0}}) {
      CAPTURE(hosts, slots, shape.branching);
      SmallWorld world{{.hosts = hosts, .slots = {slots}, .shape = shape, .seed = hosts}};
      for (Actor& actor : world.actors) {
        actor.verbs = true;
        actor.barriers = hosts * slots > 1 ? 1 : 0;
      }
      world.run();
      REQUIRE(world.result);
      CHECK(world.result->status == 0);
      for (std::uint32_t i = 0; i < hosts * slots; ++i)
        CHECK(world.actors[i].qpdata == expected(i, hosts * slots));
    }
  }
}

TEST_CASE("each host gets only what is for its processes", "[node]") {
  SmallWorld world{{.hosts = 6, .slots = {2}, .shape = {2, 0}}};
  for (Actor& actor : world.actors) actor.verbs = true;
  world.run();
  CHECK(world.result->status == 0);
  std::map<std::uint32_t, std::size_t> passed;  // blocks that come down to a host, by host
  for (const Sent& each : world.sent) {
    const auto* down = get_if<wire::QueuePairsDown>(&each.message);
    if (down == nullptr) continue;
    ++passed[each.to];
    CHECK(down->block.pairs.size() == 2U * 2 * wire::QueuePairs::kQueuePair);
  }
  for (const auto& [host, blocks] : passed) {
    std::set<std::uint32_t> below{host};  // who gets its table from whom shows the tree
    for (int round = 0; round < 6; ++round) {
      for (const Sent& each : world.sent) {
        if (holds_alternative<wire::TableDown>(each.message) && below.contains(each.from))
          below.insert(each.to);
      }
    }
    const std::size_t outside = 6 - below.size();
    CHECK(blocks <= below.size() * 5);
    CHECK(blocks >= outside * below.size());
  }
}

TEST_CASE("a child sends queue pairs of its own processes only", "[node]") {
  const auto [first, sources, targets, bytes] =
      GENERATE(table<std::uint32_t, std::uint32_t, std::uint32_t, std::size_t>({
          {0, 2, 1, 24},           // of another host
          {1, 2, 1, 24},           // of another host as well
          {2, 0, 1, 0},            // of nobody
          {2, 1, 1, 13},           // too long
          {2, 0xFFFFFFFF, 1, 12},  // too many
      }));
  SmallWorld world{{.hosts = 2, .slots = {2}, .shape = {2, 0}}};
  for (Actor& actor : world.actors) actor.fate = Actor::Fate::stays;
  const wire::QueuePairs block{first, sources, 0, targets, std::string(bytes, '\1')};
  world.at(2s, [&] { world.forge(1, wire::QueuePairsUp{block}); });
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 125);
  CHECK(world.said_anywhere("spoke for hosts that it was not given", Tone::error));
}

TEST_CASE("a queue pair exchange takes each host's block once and nothing else", "[queue_pairs]") {
  QueuePairExchange exchange{{2, 2, 5}, table_of({2, 2, 1})};
  QueuePairExchange::Orders orders;
  const std::string pair(12, 'x'), other(12, 'y');
  exchange.given(2, pair + pair + other + pair, orders);
  CHECK(orders.away.empty());
  exchange.given(3, other + other + pair + other, orders);
  REQUIRE(orders.away.size() == 2);
  CHECK(orders.away[0] == wire::QueuePairs{2, 2, 0, 2, pair + pair + other + other});
  CHECK(orders.away[1] == wire::QueuePairs{2, 2, 4, 1, pair + other});

  exchange.arrived({0, 2, 2, 2, std::string(48, 'a')}, orders);
  exchange.arrived({0, 2, 2, 2, std::string(48, 'z')}, orders);  // again
  exchange.arrived({2, 2, 2, 2, std::string(48, 'z')}, orders);  // our own
  exchange.arrived({4, 2, 2, 2, std::string(48, 'z')}, orders);  // no such host
  exchange.arrived({4, 1, 0, 2, std::string(24, 'z')}, orders);  // not for us
  exchange.arrived({4, 1, 2, 2, std::string(25, 'z')}, orders);
  CHECK(orders.ready.empty());
  exchange.arrived({4, 1, 2, 2, std::string(24, 'b')}, orders);
  REQUIRE(orders.ready.size() == 2);
  CHECK(orders.ready[0].first == 2);
  CHECK(orders.ready[0].second ==
        std::string(24, 'a') + std::string(12, '\0') + std::string(12, 'x') + std::string(12, 'b'));
}

}  // namespace charmtree::node_queue_pairs_test
