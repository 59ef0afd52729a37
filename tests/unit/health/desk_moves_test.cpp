// SPDX-License-Identifier: Apache-2.0
// The desk of a job whose hosts are lost: their processes go on elsewhere.
#include <catch2/catch.hpp>

#include "tests/unit/what_happened.hpp"
#include "tree/node/root_desk.hpp"

namespace charmtree::desk_moves_test {

using namespace charmtree::proto;
using namespace charmtree::test;

namespace {

const Error kGone{Errc::link_lost, Phase::run, "the host is gone"};

/// Four hosts with two processes each, and a spare, all up.
class Desk {
public:
  explicit Desk(std::uint32_t most = 10, bool fast = false) : desk(plan(most, fast)) {
    desk.begin(now);
    wire::Facts facts;
    facts.hosts_up = {0, 1, 2, 3, 4};
    desk.facts(std::move(facts), now);
    turn();
  }
  static RootPlan plan(std::uint32_t most, bool fast) {
    RootPlan plan;
    plan.job.hosts = 5;
    plan.job.processes = 8;
    plan.job.loss.recovery = wire::Recovery::in_place;
    plan.job.heartbeat.interval = 250ms;
    plan.restart = RestartRules{most, {}, false, fast};
    plan.hosts.resize(5);
    for (std::uint32_t i = 0; i < 5; ++i) {
      plan.hosts[i].index = i;
      plan.hosts[i].name = "h" + std::to_string(i);
      plan.hosts[i].processes = i < 4 ? 2 : 0;
    }
    number_processes(plan.hosts);
    return plan;
  }
  void register_all() {
    wire::Facts facts;
    facts.registered = 8;
    for (std::uint32_t i = 0; i < 4; ++i) facts.blocks.push_back({i, 2 * i, 1, {{0, "a"}, {0, "b"}}});
    desk.facts(std::move(facts), now);
    turn();
    orders = {};
  }
  void ends(std::uint32_t process) {
    wire::Facts facts;
    facts.exited_ok = 1;
    facts.who_ended = {{process, process}};
    desk.facts(std::move(facts), now);
    turn();
  }
  void lose(std::uint32_t host, std::vector<std::uint32_t> hosts) {
    desk.message(wire::LinkLost{host, kGone, {}, false, std::move(hosts)}, now, out, orders);
    turn();
  }
  void fence(std::uint32_t host) {
    desk.message(wire::Fenced{host}, now, out, orders);
    turn();
  }
  void turn() { desk.turn(now, out, orders); }
  std::vector<wire::Share> moved() const {
    std::vector<wire::Share> all;
    for (const wire::Moved& each : only<wire::Moved>(orders.everyone))
      all.insert(all.end(), each.shares.begin(), each.shares.end());
    return all;
  }
  std::vector<std::uint32_t> restarted() const {
    std::vector<std::uint32_t> all;
    for (const auto& [process, message] : orders.process) {
      if (std::holds_alternative<wire::Restart>(message)) all.push_back(process);
    }
    return all;
  }
  bool ended() const { return desk.judge().verdict().has_value(); }

  using Shares = std::vector<wire::Share>;
  using Processes = std::vector<std::uint32_t>;
  Instant now{10s};
  Actions out;
  DeskOrders orders;
  RootDesk desk;
};

}  // namespace

TEST_CASE("processes of a lost host go to a spare when that is fenced, and then to the hosts with the fewest",
          "[moves]") {
  Desk desk;
  desk.lose(1, {1});
  CHECK_FALSE(desk.ended());
  CHECK(desk.moved().empty());
  desk.fence(1);
  CHECK(desk.moved() == Desk::Shares{{4, 2, 2}});
  CHECK(desk.restarted() == Desk::Processes{2, 3});
  CHECK(desk.desk.judge().places().host_of(3).name == "h4");
  desk.orders = {};
  desk.lose(4, {4});
  desk.fence(4);
  CHECK(desk.moved() == Desk::Shares{{0, 2, 1}, {2, 3, 1}});
  CHECK(desk.restarted() == Desk::Processes{2, 3});  // without a pause: it is no fault of theirs
}

TEST_CASE("where no heartbeat bounds the life of those who are cut off, the job ends unless they are fenced",
          "[moves]") {
  Desk desk;
  desk.desk.message(wire::LinkLost{1, kGone, {}, false, {1}, true}, desk.now, desk.out, desk.orders);
  desk.turn();
  desk.now = desk.desk.next_deadline();
  desk.turn();
  CHECK(desk.moved().empty());
  CHECK(desk.ended());
}

TEST_CASE("a lost launcher takes those with it that it had started; who has ended is not started again",
          "[moves]") {
  Desk desk;
  desk.ends(5);
  desk.lose(1, {1, 2, 4});
  desk.fence(2);
  CHECK(desk.moved() == Desk::Shares{{0, 4, 1}});
  desk.orders = {};
  desk.now = desk.desk.next_deadline();  // nobody says anything of host 1
  CHECK(desk.now == Instant{20s});
  desk.turn();
  CHECK(desk.moved() == Desk::Shares{{3, 2, 1}, {0, 3, 1}});
  for (std::uint32_t process = 0; process < 8; ++process) {
    if (process != 5) desk.ends(process);
  }
  REQUIRE(desk.ended());
  CHECK(desk.desk.judge().verdict()->status == 0);
}

TEST_CASE("whoever does not want to wait loses no time", "[moves]") {
  Desk desk{10, true};
  desk.lose(3, {3});
  CHECK(desk.moved() == Desk::Shares{{4, 6, 2}});
}

TEST_CASE("no barrier opens until those that were moved are in the table again", "[moves]") {
  Desk desk;
  desk.register_all();
  wire::Facts facts;
  facts.barrier[0] = 8;
  desk.lose(0, {0});
  desk.desk.facts(facts, desk.now);
  desk.fence(0);
  CHECK(only<wire::Release>(desk.orders.everyone).empty());
  desk.orders = {};
  for (const std::uint32_t process : {0U, 1U}) {
    desk.desk.message(wire::Rejoined{process, 0, 9, "new"}, desk.now, desk.out, desk.orders);
  }
  desk.turn();
  const auto renewed = only<wire::Renewed>(desk.orders.everyone);
  REQUIRE(renewed.size() == 1);
  REQUIRE(renewed[0].blocks.size() == 2);
  CHECK((renewed[0].blocks[0].host == 4 && renewed[0].blocks[1].host == 4));
  CHECK(only<wire::Release>(desk.orders.everyone).empty());
  facts.epoch = renewed[0].epoch;
  desk.desk.facts(facts, desk.now);
  desk.turn();
  CHECK(only<wire::Release>(desk.orders.everyone).size() == 1);
}

TEST_CASE("who registers first on the new host is in the first table", "[moves]") {
  Desk desk;
  desk.lose(3, {3});
  desk.fence(3);
  wire::Facts facts;
  facts.registered = 6;
  for (std::uint32_t i = 0; i < 3; ++i) facts.blocks.push_back({i, 2 * i, 1, {{0, "a"}, {0, "b"}}});
  desk.desk.facts(std::move(facts), desk.now);
  for (const std::uint32_t process : {7U, 6U})
    desk.desk.message(wire::Rejoined{process, 0, 9, "new"}, desk.now, desk.out, desk.orders);
  desk.turn();
  const auto tables = only<wire::TableDown>(desk.orders.everyone);
  REQUIRE(tables.size() == 1);
  CHECK(wire::decode_table(*tables[0].table)->blocks.back().tuples.at(0).data == "new");
  CHECK(only<wire::Renewed>(desk.orders.everyone).empty());
}

TEST_CASE("the processes of one host count once, and the job ends when there have been enough", "[moves]") {
  Desk desk{1};
  desk.lose(0, {0});
  CHECK_FALSE(desk.ended());
  desk.fence(0);
  desk.lose(1, {1});
  REQUIRE(desk.ended());
  CHECK(desk.desk.judge().verdict()->lines.back().find("++max-restarts") != std::string::npos);
}

TEST_CASE("what cannot go on so ends the run", "[moves]") {
  Desk desk;
  SECTION("some wait for others in the table") {
    wire::Facts facts;
    facts.registered = 1;
    desk.desk.facts(std::move(facts), desk.now);
    desk.lose(1, {1});
  }
  SECTION("nobody is left") {
    desk.lose(1, {0, 1, 2, 3, 4});
  }
  SECTION("one has left before the others") {
    desk.register_all();
    desk.ends(2);
    desk.lose(1, {1});
  }
  REQUIRE(desk.ended());
  CHECK(desk.desk.judge().verdict()->why.cause == Cause::launcher);
}

}  // namespace charmtree::desk_moves_test
