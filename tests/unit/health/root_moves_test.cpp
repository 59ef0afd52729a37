// SPDX-License-Identifier: Apache-2.0
// The controller of a job whose hosts are lost: their processes go on elsewhere.
#include <catch2/catch.hpp>

#include "tests/unit/what_happened.hpp"
#include "tree/node/root_controller.hpp"

namespace charmtree::root_moves_test {

using namespace charmtree::proto;
using namespace charmtree::test;

namespace {

const Error kGone{Errc::link_lost, Phase::run, "the host is gone"};

/// Four hosts with two processes each, and a spare, all up.
class Controller {
public:
  explicit Controller(std::uint32_t most = 10, bool fast = false) : controller(plan(most, fast)) {
    controller.begin(now);
    wire::Facts facts;
    facts.hosts_up = {0, 1, 2, 3, 4};
    controller.facts(std::move(facts), now);
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
    controller.facts(std::move(facts), now);
    turn();
    orders = {};
  }
  void ends(std::uint32_t process) {
    wire::Facts facts;
    facts.exited_ok = 1;
    facts.who_ended = {{process, process}};
    controller.facts(std::move(facts), now);
    turn();
  }
  void lose(std::uint32_t host, std::vector<std::uint32_t> hosts) {
    controller.message(wire::LinkLost{host, kGone, {}, false, std::move(hosts)}, now, out, orders);
    turn();
  }
  void fence(std::uint32_t host) {
    controller.message(wire::Fenced{host}, now, out, orders);
    turn();
  }
  void turn() { controller.turn(now, out, orders); }
  std::vector<wire::Share> moved() const {
    std::vector<wire::Share> all;
    for (const wire::Moved& each : only<wire::Moved>(orders.everyone))
      all.insert(all.end(), each.shares.begin(), each.shares.end());
    return all;
  }
  std::vector<std::uint32_t> restarted() const {
    std::vector<std::uint32_t> all;
    for (const auto& [process, message] : orders.process) {
      if (holds_alternative<wire::Restart>(message)) all.push_back(process);
    }
    return all;
  }
  bool ended() const { return controller.judge().verdict().has_value(); }

  using Shares = std::vector<wire::Share>;
  using Processes = std::vector<std::uint32_t>;
  Instant now{10s};
  Actions out;
  RootOrders orders;
  RootController controller;
};

}  // namespace

TEST_CASE("processes of a lost host go to a spare when that is fenced, and then to the hosts with the fewest",
          "[moves]") {
  Controller controller;
  controller.lose(1, {1});
  CHECK_FALSE(controller.ended());
  CHECK(controller.moved().empty());
  controller.fence(1);
  CHECK(controller.moved() == Controller::Shares{{4, 2, 2}});
  CHECK(controller.restarted() == Controller::Processes{2, 3});
  CHECK(controller.controller.judge().places().host_of(3).name == "h4");
  controller.orders = {};
  controller.lose(4, {4});
  controller.fence(4);
  CHECK(controller.moved() == Controller::Shares{{0, 2, 1}, {2, 3, 1}});
  CHECK(controller.restarted() == Controller::Processes{2, 3});  // without a pause: it is no fault of theirs
}

TEST_CASE("where no heartbeat bounds the life of those who are cut off, the job ends unless they are fenced",
          "[moves]") {
  Controller controller;
  controller.controller.message(wire::LinkLost{1, kGone, {}, false, {1}, true}, controller.now,
                                controller.out, controller.orders);
  controller.turn();
  controller.now = controller.controller.next_deadline();
  controller.turn();
  CHECK(controller.moved().empty());
  CHECK(controller.ended());
}

TEST_CASE("a lost launcher takes those with it that it had started; who has ended is not started again",
          "[moves]") {
  Controller controller;
  controller.ends(5);
  controller.lose(1, {1, 2, 4});
  controller.fence(2);
  CHECK(controller.moved() == Controller::Shares{{0, 4, 1}});
  controller.orders = {};
  controller.now = controller.controller.next_deadline();  // nobody says anything of host 1
  CHECK(controller.now == Instant{20s});
  controller.turn();
  CHECK(controller.moved() == Controller::Shares{{3, 2, 1}, {0, 3, 1}});
  for (std::uint32_t process = 0; process < 8; ++process) {
    if (process != 5) controller.ends(process);
  }
  REQUIRE(controller.ended());
  CHECK(controller.controller.judge().verdict()->status == 0);
}

TEST_CASE("whoever does not want to wait loses no time", "[moves]") {
  Controller controller{10, true};
  controller.lose(3, {3});
  CHECK(controller.moved() == Controller::Shares{{4, 6, 2}});
}

TEST_CASE("no barrier opens until those that were moved are in the table again", "[moves]") {
  Controller controller;
  controller.register_all();
  wire::Facts facts;
  facts.barrier[0] = 8;
  controller.lose(0, {0});
  controller.controller.facts(facts, controller.now);
  controller.fence(0);
  CHECK(only<wire::Release>(controller.orders.everyone).empty());
  controller.orders = {};
  for (const std::uint32_t process : {0U, 1U}) {
    controller.controller.message(wire::Rejoined{process, 0, 9, "new"}, controller.now, controller.out,
                                  controller.orders);
  }
  controller.turn();
  const auto renewed = only<wire::Renewed>(controller.orders.everyone);
  REQUIRE(renewed.size() == 1);
  REQUIRE(renewed[0].blocks.size() == 2);
  CHECK((renewed[0].blocks[0].host == 4 && renewed[0].blocks[1].host == 4));
  CHECK(only<wire::Release>(controller.orders.everyone).empty());
  facts.epoch = renewed[0].epoch;
  controller.controller.facts(facts, controller.now);
  controller.turn();
  CHECK(only<wire::Release>(controller.orders.everyone).size() == 1);
}

TEST_CASE("who registers first on the new host is in the first table", "[moves]") {
  Controller controller;
  controller.lose(3, {3});
  controller.fence(3);
  wire::Facts facts;
  facts.registered = 6;
  for (std::uint32_t i = 0; i < 3; ++i) facts.blocks.push_back({i, 2 * i, 1, {{0, "a"}, {0, "b"}}});
  controller.controller.facts(std::move(facts), controller.now);
  for (const std::uint32_t process : {7U, 6U})
    controller.controller.message(wire::Rejoined{process, 0, 9, "new"}, controller.now, controller.out,
                                  controller.orders);
  controller.turn();
  const auto tables = only<wire::TableDown>(controller.orders.everyone);
  REQUIRE(tables.size() == 1);
  CHECK(wire::decode_table(*tables[0].table)->blocks.back().tuples.at(0).data == "new");
  CHECK(only<wire::Renewed>(controller.orders.everyone).empty());
}

TEST_CASE("the processes of one host count once, and the job ends when there have been enough", "[moves]") {
  Controller controller{1};
  controller.lose(0, {0});
  CHECK_FALSE(controller.ended());
  controller.fence(0);
  controller.lose(1, {1});
  REQUIRE(controller.ended());
  CHECK(controller.controller.judge().verdict()->lines.back().find("++max-restarts") != std::string::npos);
}

TEST_CASE("what cannot go on so ends the run", "[moves]") {
  Controller controller;
  SECTION("some wait for others in the table") {
    wire::Facts facts;
    facts.registered = 1;
    controller.controller.facts(std::move(facts), controller.now);
    controller.lose(1, {1});
  }
  SECTION("nobody is left") {
    controller.lose(1, {0, 1, 2, 3, 4});
  }
  SECTION("one has left before the others") {
    controller.register_all();
    controller.ends(2);
    controller.lose(1, {1});
  }
  REQUIRE(controller.ended());
  CHECK(controller.controller.judge().verdict()->why.cause == Cause::launcher);
}

}  // namespace charmtree::root_moves_test
