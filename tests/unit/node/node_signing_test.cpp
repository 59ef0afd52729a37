// SPDX-License-Identifier: Apache-2.0
// ++forward-agent in whole jobs: inner launchers without keys, an agent that fails, and launchers that ask
// for too much.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/unit/small_world.hpp"
#include "tree/wire/ssh_blob.hpp"
#include "tree/wire/userauth.hpp"

namespace charmtree::node_signing_test {

using namespace charmtree::proto;
using namespace charmtree::test;

namespace {

constexpr Duration kRunning = 10s;

std::string make_key() {
  std::string blob;
  wire::append_string(blob, "ssh-ed25519");
  wire::append_string(blob, std::string(32, 'k'));
  return blob;
}

/// What a login to `host` has signed; every login has another session.
std::string login_data(std::uint32_t host, const std::string& user = "joe") {
  const std::string session = std::string(31, 's') + static_cast<char>(host);
  return wire::encode(wire::UserauthRequest{session, user, "ssh-ed25519", make_key()});
}

Plan make_plan(wire::Shape shape) {
  return {.hosts = 14, .shape = shape, .user = "joe", .forwarded_keys = {make_key()}};
}

/// Only the root has keys: by ssh the others need a signature, by the ssh command they get nowhere.
Outcome keyless(const Try& each) {
  if (each.from == wire::kRootIndex) return {};
  if (each.via == Via::command) return {Error{Errc::not_authorised, Phase::authenticate, "denied"}, 0ms, {}};
  return {{}, 0ms, {}, login_data(each.host)};
}

std::size_t by_root(const SmallWorld& world) {
  return static_cast<std::size_t>(std::count_if(
      world.tries.begin(), world.tries.end(), [](const Try& each) { return each.from == wire::kRootIndex; }));
}

template <class M>
std::size_t count_sent(const SmallWorld& world) {
  return static_cast<std::size_t>(std::count_if(world.sent.begin(), world.sent.end(), [](const Sent& each) {
    return holds_alternative<M>(each.message);
  }));
}

void run_for_good(SmallWorld& world) {
  for (Actor& actor : world.actors) {
    actor.kind = Actor::Kind::plain;
    actor.life = 1h;
  }
}

}  // namespace

TEST_CASE("the root signs for launchers without keys, at any depth", "[signing]") {
  for (const wire::Shape shape : {wire::Shape{0, 0}, {1, 0}, {2, 0}, {3, 2}}) {
    CAPTURE(shape.branching, shape.levels);
    SmallWorld world{make_plan(shape)};
    world.login = keyless;
    world.run();
    REQUIRE(world.result);
    CHECK(world.result->status == 0);
    CHECK(count_sent<wire::HandBack>(world) == 0);
    CHECK(world.tries.size() == 14);
    CHECK(world.signs.size() == 14 - by_root(world));
    CHECK(count_sent<wire::SignReply>(world) == count_sent<wire::SignRequest>(world));
    for (const Sign& sign : world.signs) CHECK(sign.key == make_key());
    for (const Actor& actor : world.actors) CHECK(actor.entered == 9);
    CHECK(world.alive() == 0);
    if (shape.branching != 1) continue;
    CHECK(by_root(world) == 1);
    CHECK(count_sent<wire::SignRequest>(world) == 13 * 14 / 2);  // one for each link on the way
    CHECK(world.said_anywhere(
        "n05: signing the login with the key " + make_key() + " for the launcher on n04", Tone::verbose));
  }
}

TEST_CASE("without a signature hosts go back to those who have keys", "[signing]") {
  SmallWorld world{make_plan({2, 0})};
  world.login = keyless;
  SECTION("the agent refuses or is gone") {
    world.agent = [](const Sign&) { return std::string{}; };
    world.run();
    CHECK(world.signs.size() == 12);  // the hosts below the first two, by those
  }
  SECTION("somebody asks for another name") {
    world.login = [](const Try& each) {
      Outcome outcome = keyless(each);
      if (!outcome.wants_signed.empty()) outcome.wants_signed = login_data(each.host, "root");
      return outcome;
    };
    world.run();
    CHECK(world.signs.empty());
    CHECK(world.said_anywhere("refused to sign a login for the launcher on n00: it is for another login name",
                              Tone::info));
  }
  REQUIRE(world.result);
  CHECK(world.result->status == 0);
  CHECK(by_root(world) == 14);
  CHECK(world.alive() == 0);
}

TEST_CASE("a signature that is refused once costs one login, no more", "[signing]") {
  SmallWorld world{make_plan({2, 0})};
  world.login = keyless;
  int asked = 0;
  world.agent = [&](const Sign& sign) { return ++asked == 1 ? std::string{} : "signed " + sign.data; };
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 0);
  CHECK(count_sent<wire::HandBack>(world) == 1);
}

TEST_CASE("a launcher gets no signature for a host that is up, nor more than a few", "[signing]") {
  SmallWorld world{make_plan({2, 0})};
  run_for_good(world);
  world.login = [](const Try& each) {
    return each.host == 3 ? Outcome{{}, kForever, {}} : keyless(each);  // below 0; its login never ends
  };
  world.at(kRunning, [&] {
    world.signs.clear();
    world.forge(0, wire::SignRequest{0, 77, 1, login_data(1)});
    for (int i = 0; i < 100; ++i) world.forge(0, wire::SignRequest{0, 77, 3, login_data(3)});
  });
  world.at(kRunning + 1s, [&] {
    CHECK(world.alive() == 1 + 13 + 13);  // all are well but host 3
    world.user_signal(2);
  });
  world.run();
  CHECK(world.signs.size() == LaunchConfig{}.retries + 1);
  CHECK(world.said_anywhere("n01: refused to sign a login for the launcher on n00: its launcher is up",
                            Tone::info));
  CHECK(std::count_if(world.said.begin(), world.said.end(), [](const Say& say) {
          return say.text.find("refused to sign") != std::string::npos;
        }) == 20);
  CHECK(world.alive() == 0);
}

TEST_CASE("a lost launcher's hosts are swept with signatures, too", "[signing]") {
  SmallWorld world{make_plan({1, 0})};
  run_for_good(world);
  world.login = keyless;
  world.at(kRunning, [&] {
    world.signs.clear();
    world.kill_launcher(11);  // 12 and 13 are below it; 10 sweeps
  });
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 125);
  CHECK(world.signs.size() == 3);
  CHECK_FALSE(world.said_anywhere("did not confirm"));
  CHECK(world.alive() == 0);
}

TEST_CASE("nothing is signed for a host that is up because the end has begun", "[signing]") {
  SmallWorld world{make_plan({2, 0})};
  run_for_good(world);
  world.login = keyless;
  for (Actor& actor : world.actors) actor.stubborn = true;
  world.at(kRunning, [&] {
    world.signs.clear();
    world.user_signal(2);
  });
  world.at(kRunning + 500ms, [&] {
    CHECK(world.alive() > 14);  // the end takes its time
    for (int i = 0; i < 5; ++i) world.forge(0, wire::SignRequest{0, 77, 1, login_data(1)});
  });
  world.run();
  CHECK(world.signs.empty());
  CHECK(world.said_anywhere("n01: refused to sign a login for the launcher on n00: its launcher is up",
                            Tone::info));
  CHECK(world.alive() == 0);
}

namespace {

/// A chain of 4 hosts, over which programs are run one after the other.
struct KeylessSession {
  explicit KeylessSession(std::size_t runs) : world(plan()) {
    world.login = keyless;
    world.run_over = [this, runs] {
      world.actors.assign(4, {});
      for (Actor& actor : world.actors) actor.kind = Actor::Kind::plain;
      if (++over > runs) return world.end_session(15);
      world.at(over * kRunning - 1s, [this] {
        if (between) between(over);
      });
      world.at(over * kRunning, [this] { world.next_run({1, 1, 1, 1}); });
    };
  }
  static Plan plan() {
    Plan plan = make_plan({1, 0});
    plan.hosts = 4;
    plan.session = true;
    plan.on_failure = wire::OnHostFailure::spare;
    plan.input_process = wire::kNoProcess;
    return plan;
  }
  void run() {
    world.run();
    CHECK(world.runs.back().status == 0);
    CHECK(world.alive() == 0);
  }

  SmallWorld world;
  std::size_t over = 0;                      // runs; the first has nothing to run
  std::function<void(std::size_t)> between;  // 1 s before the run of that number begins
};

}  // namespace

TEST_CASE("no run of a session has signatures for hosts that are up", "[signing][session]") {
  KeylessSession session{3};
  const auto ask = [&] { session.world.forge(0, wire::SignRequest{0, 77, 2, login_data(2)}); };
  session.between = [&](std::size_t run) {
    if (run == 1) CHECK(session.world.signs.size() == 3);
    session.world.signs.clear();
    ask();
    session.world.at(run * kRunning + 1ms, ask);  // before hosts have answered once more
  };
  session.run();
  CHECK(session.world.signs.empty());
  CHECK(std::count_if(session.world.said.begin(), session.world.said.end(), [](const Say& say) {
          return say.text.find("refused to sign") != std::string::npos;
        }) == 6);
}

TEST_CASE("a launcher that is lost in a run is replaced with signatures", "[signing][session]") {
  KeylessSession session{2};
  session.between = [&](std::size_t run) {
    if (run != 1) return;
    session.world.signs.clear();
    session.world.tries.clear();
    for (Actor& actor : session.world.actors) actor.life = 1h;
    session.world.at(kRunning + 5s, [&] { session.world.kill_launcher(3); });
  };
  session.run();
  CHECK(session.world.runs[1].status == 125);
  CHECK(session.world.signs.size() == 2);  // to clean up, and to start another one
  CHECK(by_root(session.world) == 0);
}

TEST_CASE("who was lost between two runs, as nobody has said, is replaced by the root",
          "[signing][session]") {
  KeylessSession session{1};
  session.between = [&](std::size_t) {
    session.world.signs.clear();
    session.world.tries.clear();
    session.world.kill_launcher(3);
  };
  session.run();
  CHECK(session.world.signs.empty());
  CHECK(by_root(session.world) == 1);
}

}  // namespace charmtree::node_signing_test
