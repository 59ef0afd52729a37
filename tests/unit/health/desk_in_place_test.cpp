// SPDX-License-Identifier: Apache-2.0
// The desk of a job whose lost processes are started again where they were: their input, and those that are
// lost before the first table.
#include <catch2/catch.hpp>

#include "tests/unit/plans.hpp"
#include "tests/unit/what_happened.hpp"
#include "tree/node/root_desk.hpp"

namespace charmtree::desk_in_place_test {

using namespace charmtree::proto;
using namespace charmtree::test;

namespace {

/// Two hosts with one process each, which are up; process 0 gets the input.
class Desk {
public:
  explicit Desk(bool to_all = false) : desk(plan(to_all)) {
    desk.begin(now);
    wire::Facts facts;
    facts.hosts_up = {0, 1};
    desk.facts(std::move(facts), now);
    turn();
  }
  static RootPlan plan(bool to_all) {
    RootPlan plan = test::plan_of(2);
    plan.job.loss.recovery = wire::Recovery::in_place;
    plan.job.input.to_all = to_all;
    return plan;
  }
  void turn() { desk.turn(now, out, orders); }
  void fails(std::uint32_t process, bool registered = false) {
    wire::Facts facts;
    facts.exits = {{.process = process, .code = 7, .registered = registered, .restartable = true}};
    desk.facts(std::move(facts), now);
    turn();
  }
  void reads(const std::string& bytes, bool end = false) {
    desk.input({bytes, end}, orders);
    turn();
  }
  void forget() {
    out.clear();
    orders = {};
  }
  bool wants_input() const { return !only<ReadInput>(out).empty(); }
  std::vector<wire::Restart> restarts() const {
    std::vector<wire::Restart> all;
    for (const auto& [process, message] : orders.process) {
      if (const auto* restart = std::get_if<wire::Restart>(&message)) all.push_back(*restart);
    }
    return all;
  }
  std::vector<wire::Input> inputs() const { return only<wire::Input>(orders.input); }

  Instant now{10s};
  Actions out;
  DeskOrders orders;
  RootDesk desk;
};

}  // namespace

TEST_CASE("a process that is started again after the end of the input is at its end, too",
          "[restarts][input]") {
  const bool to_all = GENERATE(false, true);
  Desk desk{to_all};
  desk.reads("all of it", true);
  desk.fails(0);
  desk.fails(1);
  REQUIRE(desk.restarts().size() == 2);
  CHECK(desk.restarts()[0].input_ended);
  CHECK(desk.restarts()[1].input_ended == to_all);
}

TEST_CASE("no input is read for a process that is not there, and what was being read is kept",
          "[restarts][input]") {
  const bool to_all = GENERATE(false, true);
  Desk desk{to_all};
  CHECK(desk.wants_input());
  desk.fails(0);
  REQUIRE(desk.restarts().size() == 1);
  CHECK_FALSE(desk.restarts()[0].input_ended);
  desk.forget();
  desk.fails(0);  // now it is started after a pause
  CHECK(desk.restarts().empty());
  desk.reads("for the next one", true);
  CHECK(desk.inputs().empty());
  CHECK_FALSE(desk.wants_input());
  desk.now = desk.desk.next_deadline();
  desk.turn();
  REQUIRE(desk.restarts().size() == 1);
  CHECK_FALSE(desk.restarts()[0].input_ended);
  REQUIRE(desk.inputs().size() == 1);
  CHECK((desk.inputs()[0].bytes == "for the next one" && desk.inputs()[0].end));
}

TEST_CASE(
    "a client that has registered and is lost before the first table is started again, and all hear of it",
    "[restarts]") {
  Desk desk;
  wire::Facts facts;
  facts.registered = 1;
  facts.blocks = {{0, 0, 1, {{0, "a"}}}};
  desk.desk.facts(std::move(facts), desk.now);
  desk.turn();
  desk.fails(0, true);
  REQUIRE(desk.restarts().size() == 1);
  CHECK_FALSE(desk.desk.judge().verdict());
  desk.desk.message(wire::Rejoined{0, 0, 1, "a2"}, desk.now, desk.out, desk.orders);
  desk.turn();
  CHECK(desk.orders.everyone.empty());
  facts = {};
  facts.registered = 1;
  facts.blocks = {{1, 1, 2, {{0, "b"}}}};
  desk.desk.facts(std::move(facts), desk.now);
  desk.turn();
  REQUIRE(desk.orders.everyone.size() == 2);
  CHECK(std::holds_alternative<wire::TableDown>(desk.orders.everyone[0]));
  REQUIRE(std::holds_alternative<wire::Renewed>(desk.orders.everyone[1]));
  CHECK(std::get<wire::Renewed>(desk.orders.everyone[1]).blocks.at(0).tuples.at(0).data == "a2");
  CHECK(std::holds_alternative<wire::Readmit>(desk.orders.process.back().second));
}

TEST_CASE("the end of the input is said again to a host that was cut off", "[losses][input]") {
  RootPlan plan = Desk::plan(false);
  plan.job.loss.recovery = wire::Recovery::go_on;
  RootDesk desk{plan};
  Actions out;
  DeskOrders orders;
  desk.begin(Instant{1s});
  wire::Facts facts;
  facts.hosts_up = {0, 1};
  desk.facts(std::move(facts), Instant{1s});
  const bool has_ended = GENERATE(false, true);
  desk.input({"some", has_ended}, orders);
  orders = {};
  SECTION("to the host of the process that gets it") {
    desk.message(wire::Reached{0, {{0, 0}}}, Instant{1s}, out, orders);
    REQUIRE(orders.input.size() == (has_ended ? 1 : 0));
    if (has_ended) CHECK(std::get<wire::Input>(orders.input[0]).end);
  }
  SECTION("to no other one") {
    desk.message(wire::Reached{1, {{1, 1}}}, Instant{1s}, out, orders);
    CHECK(orders.input.empty());
  }
}

}  // namespace charmtree::desk_in_place_test
