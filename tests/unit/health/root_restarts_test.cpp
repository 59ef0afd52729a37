// SPDX-License-Identifier: Apache-2.0
// When the root starts a program again of which something may be left somewhere.
#include <catch2/catch.hpp>

#include "tests/unit/plans.hpp"
#include "tree/base/signals.hpp"
#include "tree/node/root_controller.hpp"

namespace charmtree::root_restarts_test {

using namespace charmtree::proto;

namespace {

constexpr Instant kNow{50s};
constexpr Duration kBound = 10s;

struct Fixture {
  static RootPlan plan() {
    RootPlan plan = test::plan_of(2);
    plan.job.timeout = 10s;
    plan.job.heartbeat = {250ms, 1s, 8s};
    plan.job.loss.recovery = wire::Recovery::whole;
    plan.restart = RestartRules{};
    plan.bad_exit = BadExit::ends;
    return plan;
  }

  static wire::Facts failure() {
    wire::Facts facts;
    wire::ProcessExit exit;
    exit.process = 1;
    exit.code = 3;
    facts.exits = {exit};
    return facts;
  }

  /// Both hosts are up, and process 1 fails.
  void fail() {
    controller.begin(kNow);
    wire::Facts facts = failure();
    facts.hosts_up = {0, 1};
    facts.blind = blind;
    controller.facts(facts, kNow);
    turn(kNow);
    REQUIRE((orders.end && orders.end->stay));
  }
  void turn(Instant now) {
    orders = {};
    controller.turn(now, out, orders);
  }
  void idle(std::set<std::uint32_t> unconfirmed, std::set<std::uint32_t> unbounded = {}) {
    controller.idle(unconfirmed, unbounded, kNow, out);
    turn(kNow);
  }
  bool said(std::string_view words) const {
    return std::any_of(out.begin(), out.end(), [&](const Action& action) {
      const auto* say = get_if<Say>(&action);
      return say != nullptr && say->text.find(words) != std::string::npos;
    });
  }
  /// The job ends, with the status of what had failed.
  bool ends() const { return orders.end && !orders.end->stay && controller.judge().verdict()->status == 3; }

  std::vector<std::uint32_t> blind;
  RootController controller;
  RootOrders orders;
  Actions out;
  explicit Fixture(const RootPlan& of = plan()) : controller(of) {}
};

}  // namespace

TEST_CASE("when everybody has confirmed the end, the next run begins at once", "[controller][restart]") {
  Fixture f;
  f.fail();
  f.idle({});
  CHECK(f.orders.relaunch);
}

TEST_CASE("a program whose hosts are all there starts again on each at once", "[controller][restart]") {
  RootPlan plan = Fixture::plan();
  plan.job.starts_together = true;
  Fixture f{plan};
  f.controller.begin(kNow);
  wire::Facts facts;
  facts.hosts_up = {0, 1};
  f.controller.facts(facts, kNow);
  f.turn(kNow);
  REQUIRE(f.orders.start);
  f.controller.facts(facts, kNow);  // they have started
  f.turn(kNow);
  f.controller.facts(Fixture::failure(), kNow);
  f.turn(kNow);
  std::set<std::uint32_t> unconfirmed;
  SECTION("not if one has not confirmed that nothing is left") {
    unconfirmed = {1};
  }
  SECTION("all have") {}
  f.idle(unconfirmed);
  f.controller.confirmed(std::vector(unconfirmed.begin(), unconfirmed.end()));
  f.turn(kNow);
  REQUIRE(f.orders.relaunch);
  CHECK(f.controller.next_run(kNow)->job()->starts_together == !unconfirmed.empty());
}

TEST_CASE("a slow host is waited for where the next run cannot do without it", "[controller][restart]") {
  RootPlan plan = Fixture::plan();
  Duration patience = plan.job.timeout;
  SECTION("for lack of spares") {}
  SECTION("not if the program may get narrower") {
    plan.restart->may_narrow = true;
    patience = 0s;
  }
  SECTION("as long as the user says") {
    patience = plan.job.launch.patience = 5s;
  }
  Fixture f{plan};
  f.fail();
  f.idle({1});
  f.controller.confirmed({1});
  f.turn(kNow);
  REQUIRE(f.orders.relaunch);
  const auto next = f.controller.next_run(kNow);
  CHECK(next->job()->launch.on_host_failure == wire::OnHostFailure::spare);
  CHECK(next->job()->launch.patience == patience);
}

TEST_CASE("what is not confirmed is waited for, as long as it may take", "[controller][restart]") {
  Fixture f;
  f.fail();
  f.idle({1});
  CHECK_FALSE(f.orders.relaunch);
  CHECK(f.said("h1: not confirmed that the job has ended there; waiting 10 s, until it has"));
  CHECK(f.controller.next_deadline() == kNow + kBound);
  SECTION("it is confirmed meanwhile") {
    f.controller.confirmed({1});
    f.turn(kNow + 1s);
    CHECK(f.orders.relaunch);
  }
  SECTION("it is not") {
    f.turn(kNow + kBound - 1ms);
    CHECK_FALSE(f.orders.relaunch);
    f.turn(kNow + kBound);
    CHECK(f.orders.relaunch);
  }
}

TEST_CASE("nothing is started again where old processes may live for ever", "[controller][restart]") {
  const auto refuses = [](Fixture& f, const std::set<std::uint32_t>& unbounded = {}) {
    f.idle({1}, unbounded);
    CHECK(f.said("waiting at most 10 s, until it is"));
    f.turn(kNow + kBound);
    CHECK_FALSE(f.orders.relaunch);
    CHECK(f.ends());
    CHECK(f.said("the job is not restarted: h1: its processes may still run there"));
    CHECK(f.controller.next_deadline() == kNever);
  };
  SECTION("their launcher is frozen, or too slow") {
    Fixture f;
    f.fail();
    refuses(f, {1});
  }
  SECTION("it does not see whether its parent is there") {
    Fixture f;
    f.blind = {1};
    f.fail();
    refuses(f);
  }
  SECTION("nobody is watched") {
    RootPlan plan = Fixture::plan();
    plan.job.heartbeat.interval = -1s;
    Fixture f{plan};
    f.fail();
    refuses(f);
  }
  SECTION("the job was suspended") {
    Fixture f;
    f.controller.begin(kNow);
    f.controller.facts({.hosts_up = {0, 1}}, kNow);
    f.controller.signal(signals::kTerminalStop, kNow, f.out, f.orders);
    f.turn(kNow);
    REQUIRE(f.orders.suspend == true);
    wire::ProcessExit exit;
    exit.process = 1;
    exit.code = 3;
    f.controller.facts({.exits = {exit}}, kNow);
    f.turn(kNow);
    refuses(f);
  }
}

TEST_CASE("it is after all if it is confirmed in time, or if the user says so", "[controller][restart]") {
  SECTION("confirmed") {
    Fixture f;
    f.fail();
    f.idle({0, 1}, {1});
    f.controller.confirmed({1});
    f.turn(kNow + kBound - 1ms);
    CHECK_FALSE(f.orders.relaunch);  // of the other one the end is not known, but near
    f.turn(kNow + kBound);
    CHECK(f.orders.relaunch);
  }
  SECTION("++fast-failover") {
    RootPlan plan = Fixture::plan();
    plan.restart->fast_failover = true;
    Fixture f{plan};
    f.fail();
    f.idle({1}, {1});
    CHECK(f.orders.relaunch);
  }
}

}  // namespace charmtree::root_restarts_test
