// SPDX-License-Identifier: Apache-2.0
// Signals of the user's that do not end the job, and jobs that are suspended.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/unit/small_world.hpp"
#include "tree/base/signals.hpp"

namespace charmtree::node_signals_test {

using namespace charmtree::proto;
using namespace charmtree::test;
using namespace charmtree::signals;

namespace {

constexpr Duration kRunning = 20s;        // by then every job here runs
constexpr Duration kTraversal = 4 * 5ms;  // down a tree of 4 levels, at most

/// 15 hosts in a binary tree with two processes each, which run until SIGKILL ends them.
struct Forest : SmallWorld {
  explicit Forest(test::Plan plan = {}, Actor::Kind kind = Actor::Kind::charm)
      : SmallWorld(shaped(std::move(plan))) {
    for (Actor& actor : actors) {
      actor.kind = kind;
      actor.fate = Actor::Fate::stays;
      if (kind == Actor::Kind::plain) actor.life = kForever;
      actor.stubborn = true;
    }
  }
  static test::Plan shaped(test::Plan plan) {
    plan.hosts = 15;
    plan.slots = {2};
    plan.shape = {2, 0};
    return plan;
  }
  void check_signals(const std::vector<int>& expected) const {
    for (const Actor& actor : actors) CHECK(actor.signals == expected);
  }
  /// All got that one of their signals by then.
  void check_by(std::size_t which, Duration when) const {
    for (const Actor& actor : actors) CHECK(actor.signal_times.at(which) <= when);
  }
};

}  // namespace

TEST_CASE("signals for the program reach every process and change nothing", "[signals]") {
  Forest forest{{}, GENERATE(Actor::Kind::plain, Actor::Kind::charm)};
  forest.at(kRunning, [&] { forest.user_signal(kUser1); });
  forest.run(kRunning + 60s);
  CHECK_FALSE(forest.result);
  forest.check_signals({kUser1});
  forest.check_by(0, kRunning + kTraversal);
}

TEST_CASE("before the processes run, signals for the program go nowhere", "[signals]") {
  Forest forest;
  forest.login = [](const Try& each) { return Outcome{{}, each.host == 7 ? 10s : 0s, {}}; };
  forest.at(5s, [&] { forest.user_signal(kUser2); });
  forest.run(kRunning);
  forest.check_signals({});
  CHECK(forest.said_anywhere("User defined signal 2: not forwarded", Tone::info));
}

TEST_CASE("a status says who is where, and who is late", "[signals]") {
  Forest forest;
  forest.actors[5].life = kForever;  // it does not register
  forest.login = [](const Try& each) { return Outcome{{}, each.host == 7 ? 10s : 0s, {}}; };
  forest.at(5s, [&] { forest.user_signal(kQuit); });
  forest.at(kRunning, [&] { forest.user_signal(kQuit); });
  forest.run(kRunning + 1s);
  CHECK_FALSE(forest.result);
  forest.check_signals({});
  CHECK(forest.said_anywhere("launch: 14 of 15 hosts are up; not yet: n07", Tone::info));
  CHECK(forest.said_anywhere("start: 29 of 30 processes have registered; not yet: n", Tone::info));
  CHECK(forest.said_anywhere("  n[00-14]: processes 0-29, 2 on each", Tone::info));
}

TEST_CASE("an interrupt may be the program's, but not twice within a moment", "[signals]") {
  Forest forest{{.int_ends = false}};
  forest.at(kRunning, [&] { forest.user_signal(kInterrupt); });
  forest.at(kRunning + 5s, [&] { forest.user_signal(kInterrupt); });
  SECTION("it survives") {
    forest.run(kRunning + 60s);
    CHECK_FALSE(forest.result);
    forest.check_signals({kInterrupt, kInterrupt});
    CHECK(forest.said_anywhere("30 processes on 15 hosts", Tone::info));
  }
  SECTION("twice") {
    forest.at(kRunning + 5500ms, [&] { forest.user_signal(kInterrupt); });
    forest.run();
    REQUIRE(forest.result);
    CHECK(forest.result->signal == kInterrupt);
    CHECK(forest.said_anywhere("ending the job", Tone::info));
    CHECK_FALSE(forest.said_anywhere("", Tone::error));
    CHECK(forest.result_at <= kRunning + 7s);
    CHECK(forest.alive() == 0);
    for (const Actor& actor : forest.actors) CHECK(actor.signals.back() == kKill);
  }
  SECTION("another signal ends it with a grace") {
    forest.at(kRunning + 5500ms, [&] { forest.user_signal(kTerminate); });
    forest.at(kRunning + 5501ms, [&] { forest.user_signal(kTerminate); });
    forest.run();
    REQUIRE(forest.result);
    CHECK(forest.result->signal == kTerminate);
    CHECK(forest.last_exit_at >= kRunning + 7500ms);
    CHECK(forest.last_exit_at <= kRunning + 8s);
  }
}

TEST_CASE("a suspended job stops everywhere, and its time stands still", "[signals]") {
  Forest forest{{.time_limit = 30s}, GENERATE(Actor::Kind::plain, Actor::Kind::charm)};
  forest.at(kRunning, [&] { forest.user_signal(kTerminalStop); });
  forest.run(kRunning + 1000s);
  CHECK_FALSE(forest.result);
  CHECK(forest.stops == 1);
  forest.check_signals({kTerminalStop, kStop});
  forest.check_by(0, kRunning + kTraversal);
  forest.check_by(1, kRunning + kTraversal + 100ms);
  for (const Actor& actor : forest.actors) CHECK(actor.signal_times[1] - actor.signal_times[0] == 100ms);

  forest.at(kRunning + 1000s, [&] { forest.user_signal(kContinue); });
  forest.run(5000s);
  REQUIRE(forest.result);
  CHECK(forest.result->status == 124);
  CHECK(forest.result_at >= 1030s + 2s);  // not a second of it has passed, nor of the grace
  CHECK(forest.result_at <= 1033s);
  CHECK(forest.alive() == 0);
  for (const Actor& actor : forest.actors) CHECK(actor.signals.at(2) == kContinue);
  forest.check_by(2, kRunning + 1000s + kTraversal);
}

TEST_CASE("a job that a debugger has started waits until that has looked, and has no time till then",
          "[signals]") {
  Forest forest{{.time_limit = 30s, .held = true}, GENERATE(Actor::Kind::plain, Actor::Kind::charm)};
  forest.run(1000s);
  CHECK_FALSE(forest.result);
  CHECK(forest.stops == 1);
  CHECK(forest.alive() == forest.actors.size() + 16);
  std::vector<bool> known(forest.actors.size());
  for (const ProcessesKnown& told : forest.known) {
    for (const wire::ProcessIds& each : told.ids) {
      for (std::size_t i = 0; i < each.ids.size(); ++i) known.at(each.first + i) = each.ids[i] != 0;
    }
  }
  CHECK(std::count(known.begin(), known.end(), true) == static_cast<std::ptrdiff_t>(known.size()));
  CHECK(std::count_if(forest.known.begin(), forest.known.end(),
                      [](const ProcessesKnown& told) { return told.all; }) == 1);

  forest.at(1000s, [&] { forest.user_signal(kContinue); });
  forest.run(5000s);
  REQUIRE(forest.result);
  CHECK(forest.result->status == 124);
  CHECK(forest.result_at >= 1028s);
  for (const Actor& actor : forest.actors) CHECK(actor.signals.at(2) == kContinue);
}

TEST_CASE("the processes of a suspended job are told to end before they go on", "[signals]") {
  Forest forest{{}, Actor::Kind::plain};
  forest.at(kRunning, [&] { forest.user_signal(kTerminalStop); });
  forest.at(kRunning + 10s, [&] { forest.wake_root(); });
  forest.at(kRunning + 10s, [&] { forest.user_signal(kTerminate); });
  forest.run();
  REQUIRE(forest.result);
  CHECK(forest.result->signal == kTerminate);
  for (const Actor& actor : forest.actors) {
    REQUIRE(actor.signals.size() >= 4);
    CHECK((actor.signals[2] == kTerminate && actor.signals[3] == kContinue));
  }
}

TEST_CASE("a job that goes on at once is not stopped", "[signals]") {
  Forest forest;
  forest.at(kRunning, [&] { forest.user_signal(kTerminalStop); });
  forest.at(kRunning + 50ms, [&] { forest.user_signal(kContinue); });
  forest.run(kRunning + 60s);
  forest.check_signals({kTerminalStop, kContinue});
}

TEST_CASE("a suspension waits for the end of the launch", "[signals]") {
  Forest forest;
  forest.login = [](const Try& each) { return Outcome{{}, each.host == 7 ? 10s : 0s, {}}; };
  forest.at(5s, [&] { forest.user_signal(kTerminalStop); });
  forest.at(6s, [&] { CHECK(forest.stops == 0); });
  forest.run(60s);
  CHECK(forest.stops == 1);
  for (const Actor& actor : forest.actors) CHECK(actor.signals.size() == 2);
}

TEST_CASE("a job can be suspended while it ends, and then has the rest of its grace", "[signals]") {
  Forest forest;
  forest.at(kRunning, [&] { forest.user_signal(kTerminate); });
  forest.at(kRunning + 1s, [&] { forest.user_signal(kTerminalStop); });
  forest.at(kRunning + 100s, [&] { forest.user_signal(kContinue); });
  forest.run();
  REQUIRE(forest.result);
  CHECK(forest.result->signal == kTerminate);
  CHECK(forest.last_exit_at >= kRunning + 101s);
  CHECK(forest.last_exit_at <= kRunning + 101s + 100ms);
  CHECK_FALSE(forest.said_anywhere("did not confirm"));
}

TEST_CASE("suspended launchers that lose their parent end as others do", "[signals]") {
  for (const std::uint32_t host : {0U, 1U, 4U, 14U}) {
    CAPTURE(host);
    Forest forest;
    forest.at(kRunning, [&] { forest.user_signal(kTerminalStop); });
    forest.at(kRunning + 50s, [&] { forest.cut_link(host); });
    forest.run(kRunning + 60s);
    for (const Actor& actor : forest.actors) {
      if (actor.host == host) CHECK_FALSE(actor.alive);
    }
    forest.at(kRunning + 100s, [&] { forest.user_signal(kContinue); });
    forest.run();
    REQUIRE(forest.result);
    CHECK(forest.result->status == 125);
    CHECK(forest.alive() == 0);
  }
}

}  // namespace charmtree::node_signals_test
