// SPDX-License-Identifier: Apache-2.0
// The controller of a job whose lost processes are started again where they were: their input, and those that
// are lost before the first table.
#include <catch2/catch.hpp>

#include "tests/unit/plans.hpp"
#include "tests/unit/what_happened.hpp"
#include "tree/node/root_controller.hpp"

namespace charmtree::root_in_place_test {

using namespace charmtree::proto;
using namespace charmtree::test;

namespace {

/// Two hosts with one process each, which are up; process 0 gets the input.
class Controller {
public:
  explicit Controller(bool to_all = false) : controller(plan(to_all)) {
    controller.begin(now);
    wire::Facts facts;
    facts.hosts_up = {0, 1};
    controller.facts(std::move(facts), now);
    turn();
  }
  static RootPlan plan(bool to_all) {
    RootPlan plan = test::plan_of(2);
    plan.job.loss.recovery = wire::Recovery::in_place;
    plan.job.input.to_all = to_all;
    return plan;
  }
  void turn() { controller.turn(now, out, orders); }
  void fails(std::uint32_t process, bool registered = false) {
    wire::Facts facts;
    facts.exits = {{.process = process, .code = 7, .registered = registered, .restartable = true}};
    controller.facts(std::move(facts), now);
    turn();
  }
  void reads(const std::string& bytes, bool end = false) {
    controller.on(input::InputRead{bytes, end}, false, now, out, orders);
    turn();
  }
  void forget() {
    out.clear();
    orders = {};
  }
  bool wants_input() const { return !only<input::ReadInput>(out).empty(); }
  std::vector<wire::Restart> restarts() const {
    std::vector<wire::Restart> all;
    for (const auto& [process, message] : orders.process) {
      if (const auto* restart = get_if<wire::Restart>(&message)) all.push_back(*restart);
    }
    return all;
  }
  std::vector<input::Input> inputs() const { return only<input::Input>(orders.spread); }

  Instant now{10s};
  Actions out;
  RootOrders orders;
  RootController controller;
};

}  // namespace

TEST_CASE("a process that is started again after the end of the input is at its end, too",
          "[restarts][input]") {
  const bool to_all = GENERATE(false, true);
  Controller controller{to_all};
  controller.reads("all of it", true);
  controller.fails(0);
  controller.fails(1);
  REQUIRE(controller.restarts().size() == 2);
  CHECK(controller.restarts()[0].input_ended);
  CHECK(controller.restarts()[1].input_ended == to_all);
}

TEST_CASE("no input is read for a process that is not there, and what was being read is kept",
          "[restarts][input]") {
  const bool to_all = GENERATE(false, true);
  Controller controller{to_all};
  CHECK(controller.wants_input());
  controller.fails(0);
  REQUIRE(controller.restarts().size() == 1);
  CHECK_FALSE(controller.restarts()[0].input_ended);
  controller.forget();
  controller.fails(0);  // now it is started after a pause
  CHECK(controller.restarts().empty());
  controller.reads("for the next one", true);
  CHECK(controller.inputs().empty());
  CHECK_FALSE(controller.wants_input());
  controller.now = controller.controller.next_deadline();
  controller.turn();
  REQUIRE(controller.restarts().size() == 1);
  CHECK_FALSE(controller.restarts()[0].input_ended);
  REQUIRE(controller.inputs().size() == 1);
  CHECK((controller.inputs()[0].bytes == "for the next one" && controller.inputs()[0].end));
}

TEST_CASE(
    "a client that has registered and is lost before the first table is started again, and all hear of it",
    "[restarts]") {
  Controller controller;
  wire::Facts facts;
  facts.registered = 1;
  facts.blocks = {{0, 0, 1, {{0, "a"}}}};
  controller.controller.facts(std::move(facts), controller.now);
  controller.turn();
  controller.fails(0, true);
  REQUIRE(controller.restarts().size() == 1);
  CHECK_FALSE(controller.controller.judge().verdict());
  controller.controller.message(wire::Rejoined{0, 0, 1, "a2"}, controller.now, controller.out,
                                controller.orders);
  controller.turn();
  CHECK(controller.orders.everyone.empty());
  facts = {};
  facts.registered = 1;
  facts.blocks = {{1, 1, 2, {{0, "b"}}}};
  controller.controller.facts(std::move(facts), controller.now);
  controller.turn();
  REQUIRE(controller.orders.everyone.size() == 2);
  CHECK(holds_alternative<wire::TableDown>(controller.orders.everyone[0]));
  REQUIRE(holds_alternative<wire::Renewed>(controller.orders.everyone[1]));
  CHECK(get<wire::Renewed>(controller.orders.everyone[1]).blocks.at(0).tuples.at(0).data == "a2");
  CHECK(holds_alternative<wire::Readmit>(controller.orders.process.back().second));
}

TEST_CASE("the end of the input is said again to a host that was cut off", "[losses][input]") {
  RootPlan plan = Controller::plan(false);
  plan.job.loss.recovery = wire::Recovery::go_on;
  RootController controller{plan};
  Actions out;
  RootOrders orders;
  controller.begin(Instant{1s});
  wire::Facts facts;
  facts.hosts_up = {0, 1};
  controller.facts(std::move(facts), Instant{1s});
  const bool has_ended = GENERATE(false, true);
  controller.on(input::InputRead{"some", has_ended}, false, Instant{1s}, out, orders);
  controller.turn(Instant{1s}, out, orders);
  orders = {};
  SECTION("to the host of the process that gets it") {
    controller.message(wire::Reached{0, {{0, 0}}}, Instant{1s}, out, orders);
    REQUIRE(orders.spread.size() == (has_ended ? 1 : 0));
    if (has_ended) CHECK(get<input::Input>(orders.spread[0]).end);
  }
  SECTION("to no other one") {
    controller.message(wire::Reached{1, {{1, 1}}}, Instant{1s}, out, orders);
    CHECK(orders.spread.empty());
  }
}

}  // namespace charmtree::root_in_place_test
