// SPDX-License-Identifier: Apache-2.0
// Runs that follow each other over one tree, and what is lost between them.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/unit/small_world.hpp"
#include "tree/base/exit_status.hpp"
#include "tree/base/signals.hpp"

namespace charmtree::node_session_test {

using namespace charmtree::proto;
using namespace charmtree::test;

namespace {

const Error kDead{Errc::unreachable, Phase::connect, "no route to host", "is the host up?"};

Plan session_on(std::uint32_t hosts) {
  Plan plan;
  plan.hosts = hosts;
  plan.shape = {2, 0};
  plan.session = true;
  plan.on_failure = wire::OnHostFailure::spare;
  plan.input_process = wire::kNoProcess;
  return plan;
}

Actor plain(std::uint8_t code = 0) {
  Actor actor;
  actor.kind = Actor::Kind::plain;
  actor.code = code;
  return actor;
}

/// Each run is one of these lists; they begin after kStep, 2 kStep and so on.
constexpr Duration kStep = 5s;
struct Session {
  using Runs = std::vector<std::vector<std::uint32_t>>;
  Session(const Plan& plan, Runs of) : world(plan), runs(std::move(of)) {
    world.actors.assign(64, plain());
    world.run_over = [this] {
      if (next == runs.size()) return world.end_session(signals::kTerminate);
      const Duration begins = kStep * (++next);
      world.at(begins - kStep / 2, [this] {
        if (before) before(next - 1);
      });
      world.at(begins, [this] { world.next_run(runs[next - 1]); });
    };
  }
  std::vector<int> statuses() const {
    std::vector<int> all;
    for (const Finish& run : world.runs) all.push_back(run.status);
    return all;
  }
  std::size_t welcomes() const {
    return static_cast<std::size_t>(std::count_if(world.sent.begin(), world.sent.end(), [](const Sent& each) {
      return holds_alternative<wire::Welcome>(each.message);
    }));
  }

  SmallWorld world;
  Runs runs;
  std::size_t next = 0;
  std::function<void(std::size_t)> before;  // the run of that number
};

}  // namespace

TEST_CASE("runs of a session follow each other over one tree", "[session]") {
  Session session{session_on(5), {{1, 1, 1, 1, 1}, {2, 0, 0, 0, 0}, {3, 3, 3, 3, 3}}};
  session.before = [&](std::size_t) {
    for (Actor& actor : session.world.actors) actor = plain();
  };
  session.world.run();
  CHECK(session.statuses() == std::vector<int>{0, 0, 0, 0});  // the first one has nothing to run
  CHECK(session.welcomes() == 5);
  REQUIRE(session.world.result);
  CHECK(session.world.result->signal == signals::kTerminate);
  CHECK(session.world.alive() == 0);
  for (std::uint32_t process = 0; process < 15; ++process)
    CHECK(session.world.actors[process].host == process / 3);
}

TEST_CASE("the status of a run is its own, and ends nothing but it", "[session]") {
  Session session{session_on(3), {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}};
  session.before = [&](std::size_t run) {
    for (Actor& actor : session.world.actors) actor = plain(run == 0 ? 3 : 0);
    if (run == 1) session.world.actors[1].signal = signals::kKill;
  };
  session.world.run();
  CHECK(session.statuses() == std::vector<int>{0, 3, 128 + signals::kKill, 0});
  CHECK(session.welcomes() == 3);
}

TEST_CASE("a user's signal ends the run, the session's own ends both", "[session]") {
  Session session{session_on(3), {{1, 1, 1}, {1, 1, 1}}};
  for (Actor& actor : session.world.actors) actor.life = kForever;
  session.world.at(kStep + 2s, [&] { session.world.user_signal(signals::kInterrupt); });
  session.world.at(2 * kStep + 2s, [&] { session.world.end_session(signals::kHangup); });
  session.world.run();
  CHECK(session.statuses() == std::vector<int>{0, 128 + signals::kInterrupt});
  REQUIRE(session.world.result);
  CHECK(session.world.result->status == 128 + signals::kHangup);
  CHECK(session.world.alive() == 0);
}

TEST_CASE("a launcher that is lost between runs is started again by the next one", "[session]") {
  Session session{session_on(6), {{1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1}}};
  SECTION("a leaf") {
    session.before = [&](std::size_t run) {
      for (Actor& actor : session.world.actors) actor = plain();
      if (run == 1) session.world.kill_launcher(5);
    };
    session.world.run();
    CHECK(session.welcomes() == 7);
  }
  SECTION("one with others below it") {
    session.before = [&](std::size_t run) {
      for (Actor& actor : session.world.actors) actor = plain();
      if (run == 1) session.world.kill_launcher(0);
    };
    session.world.run();
    CHECK(session.welcomes() > 7);
  }
  CHECK(session.statuses() == std::vector<int>{0, 0, 0});
  CHECK(session.world.alive() == 0);
}

TEST_CASE("a host that does not come up is left out, and not tried by each run", "[session]") {
  Plan plan = session_on(3);
  Session session{plan, {{1, 1, 0}, {1, 1, 0}, {1, 1, 1}}};
  std::size_t tries = 0;
  session.world.login = [&](const Try& attempt) {
    if (attempt.host != 1) return Outcome{};
    ++tries;
    return Outcome{kDead, 10ms, {}};
  };
  session.before = [&](std::size_t) {
    for (Actor& actor : session.world.actors) actor = plain();
  };
  session.world.run();
  CHECK(session.statuses() == std::vector<int>{0, 0, 0, kLauncherFailed});
  CHECK(session.world.said_anywhere("left out: n01: connect: no route to host"));
  CHECK(session.world.said_anywhere("2 of 3 hosts are left, the job needs 3"));
  const std::size_t at_first = tries;
  CHECK(at_first >= 1);
  CHECK(at_first <= 4);
}

TEST_CASE("a session waits for hosts that are slow, and its runs do not", "[session]") {
  Session session{session_on(3), {{1, 1, 0}}};
  session.world.login = [&](const Try& attempt) {
    return attempt.host == 1 ? Outcome{{}, attempt.number == 1 ? Duration{9s} : kForever, {}} : Outcome{};
  };
  session.world.run_over = {};
  session.world.at(8s, [&] { CHECK(session.world.runs.empty()); });
  session.world.at(15s, [&] {
    REQUIRE(session.world.runs.size() == 1);
    session.world.kill_launcher(1);
  });
  session.world.at(20s, [&] { session.world.next_run({1, 1, 0}); });
  session.world.run(100s);
  CHECK(session.statuses() == std::vector<int>{0, 0});
  CHECK(session.world.said_anywhere("; the next run starts a launcher there again"));
  CHECK(session.world.said_anywhere("left out: n01: connect: silent for too long"));
}

TEST_CASE("a host that did not come up is tried again after a while", "[session]") {
  Session session{session_on(3), {}};
  bool up = false;
  session.world.login = [&](const Try& attempt) {
    return attempt.host == 1 && !up ? Outcome{kDead, 10ms, {}} : Outcome{};
  };
  session.world.run_over = [&] {
    if (session.world.runs.size() == 2) session.world.end_session(signals::kTerminate);
  };
  session.world.at(20s + PostponedHosts::kTryAgain, [&] {
    up = true;
    for (Actor& actor : session.world.actors) actor = plain();
    session.world.next_run({1, 1, 1});
  });
  session.world.run();
  CHECK(session.statuses() == std::vector<int>{0, 0});
  CHECK(session.world.actors[1].host == 1);
}

TEST_CASE("a program that is nowhere fails its run, and no host with it", "[session]") {
  Session session{session_on(3), {{1, 1, 1}, {1, 1, 1}}};
  bool missing = false;
  session.world.prepare = [&](std::uint32_t) {
    return missing ? std::optional{Error{Errc::no_program, Phase::spawn, "./typo: no such program", ""}}
                   : std::nullopt;
  };
  session.before = [&](std::size_t run) { missing = run == 0; };
  session.world.run();
  CHECK(session.statuses() == std::vector<int>{0, kNotFound, 0});
  CHECK(session.welcomes() == 3);
}

TEST_CASE("a session without a single host ends", "[session]") {
  Session session{session_on(2), {}};
  session.world.login = [](const Try&) { return Outcome{kDead, 10ms, {}}; };
  session.world.run();
  CHECK(session.world.runs.empty());
  REQUIRE(session.world.result);
  CHECK(session.world.result->status == kLauncherFailed);
  CHECK(session.world.said_anywhere("no host is left for the session"));
}

}  // namespace charmtree::node_session_test
