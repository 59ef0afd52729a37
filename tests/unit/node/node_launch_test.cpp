// SPDX-License-Identifier: Apache-2.0
// Hosts that cannot be started, at once or at all: retries, fallbacks, hand-backs, and what the user reads.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "tests/unit/small_world.hpp"
#include "tree/wire/ssh_blob.hpp"

namespace charmtree::node_launch_test {

using namespace charmtree::proto;
using namespace charmtree::test;

namespace {

const Error kNoHost{Errc::no_such_host, Phase::resolve, "no such host", "check the nodelist"};
const Error kRefused{Errc::refused, Phase::connect, "connection refused", "is sshd running there?"};
const Error kTimedOut{Errc::timed_out, Phase::connect, "timed out after 10 s", "is the host up?"};
const Error kNoKey{Errc::no_usable_key, Phase::authenticate, "no usable key", ""};
const Error kDenied{Errc::not_authorised, Phase::authenticate, "no key was accepted", ""};

Outcome fails(const Error& error, Duration after = 0ms) {
  return {error, after, {}};
}

std::vector<Try> tries_of(const SmallWorld& world, std::uint32_t host) {
  std::vector<Try> tries;
  for (const Try& each : world.tries) {
    if (each.host == host) tries.push_back(each);
  }
  return tries;
}

/// Who made these tries.
std::vector<std::uint32_t> sources(const std::vector<Try>& tries) {
  std::vector<std::uint32_t> hosts;
  for (const Try& each : tries) hosts.push_back(each.from);
  return hosts;
}

std::set<std::uint32_t> welcomed(const SmallWorld& world) {
  std::set<std::uint32_t> hosts;
  for (const Sent& each : world.sent) {
    if (holds_alternative<wire::Welcome>(each.message)) hosts.insert(each.to);
  }
  return hosts;
}

std::size_t hand_backs(const SmallWorld& world) {
  return static_cast<std::size_t>(std::count_if(world.sent.begin(), world.sent.end(), [](const Sent& each) {
    return holds_alternative<wire::HandBack>(each.message);
  }));
}

std::vector<std::string> errors(const SmallWorld& world) {
  std::vector<std::string> lines;
  for (const Say& say : world.said) {
    if (say.tone == Tone::error) lines.push_back(say.text);
  }
  return lines;
}

}  // namespace

TEST_CASE("a transient failure has three polite retries, then it is the host's error", "[launch]") {
  SmallWorld world{{.hosts = 4, .shape = {4, 1}}};
  SECTION("the last helps") {
    world.login = [](const Try& each) {
      return each.host == 2 && each.number < 4 ? fails(kRefused, 10ms) : Outcome{};
    };
    world.run();
    REQUIRE(world.result);
    CHECK(world.result->status == 0);
  }
  SECTION("it does not help") {
    world.login = [](const Try& each) { return each.host == 2 ? fails(kRefused, 10ms) : Outcome{}; };
    world.run();
    REQUIRE(world.result);
    CHECK(world.result->status == 125);
    CHECK(errors(world) ==
          std::vector<std::string>{"n02: connect: connection refused (4 tries); is sshd running there?"});
  }
  const auto tries = tries_of(world, 2);
  REQUIRE(tries.size() == 4);
  const auto pause = [&](std::size_t before) { return tries[before].at - tries[before - 1].at - 10ms; };
  const Duration first = pause(1), second = pause(2), third = pause(3);
  CHECK((first >= 125ms && first <= 375ms));
  CHECK((second >= 250ms && second <= 750ms));
  CHECK((third >= 500ms && third <= 1500ms));
  CHECK(world.alive() == 0);
}

TEST_CASE("the pauses between tries differ from host to host", "[launch]") {
  SmallWorld world{{.hosts = 8, .shape = {8, 1}}};
  world.login = [](const Try& each) { return each.number < 2 ? fails(kRefused, 10ms) : Outcome{}; };
  world.run();
  std::set<Duration> seconds;
  for (std::uint32_t host = 0; host < 8; ++host) seconds.insert(tries_of(world, host).at(1).at);
  CHECK(seconds.size() == 8);
}

TEST_CASE("a permanent failure is never tried again", "[launch]") {
  for (const Errc code : {Errc::no_such_host, Errc::handshake, Errc::host_key_unknown, Errc::host_key_changed,
                          Errc::not_authorised, Errc::no_launcher, Errc::cannot_execute,
                          Errc::library_missing, Errc::wrong_version}) {
    SmallWorld world{{.hosts = 3}};
    world.login = [&](const Try& each) {
      return each.host == 0 ? fails({code, Phase::connect, "x"}) : Outcome{};
    };
    world.run();
    CAPTURE(name(code));
    CHECK(tries_of(world, 0).size() == 1);
    REQUIRE(world.result);
    CHECK(world.result->status != 0);
    CHECK(world.alive() == 0);
  }
}

TEST_CASE("the share of an inner host that fails is started by others", "[launch]") {
  for (const wire::Shape shape : {wire::Shape{2, 0}, {4, 2}, {0, 0}}) {
    SmallWorld world{{.hosts = 20, .shape = shape}};
    world.login = [](const Try& each) { return each.host == 0 ? fails(kTimedOut, 10s) : Outcome{}; };
    world.run();
    REQUIRE(world.result);
    CHECK(world.result->status == 125);
    CHECK(welcomed(world).size() == 19);
    CHECK(world.alive() == 0);
  }
}

TEST_CASE("one run lists all bad hosts, equal errors folded, in the order of the list", "[launch]") {
  for (const wire::Shape shape : {wire::Shape{1, 0}, {2, 0}, {4, 2}, {26, 1}}) {
    CAPTURE(shape.branching);
    SmallWorld world{{.hosts = 26, .shape = shape}};
    world.login = [](const Try& each) {
      if (each.host == 3 || (each.host >= 7 && each.host <= 9)) return fails(kNoHost);
      return each.host == 20 ? fails(kTimedOut, 1s) : Outcome{};
    };
    world.prepare = [](std::uint32_t host) -> std::optional<Error> {
      if (host != 1) return {};
      return Error{Errc::no_directory, Phase::spawn, "no directory /scratch/run"};
    };
    world.run();
    REQUIRE(world.result);
    CHECK(world.result->status == 125);
    CHECK(errors(world) == std::vector<std::string>{
                               "n01: spawn: no directory /scratch/run",
                               "n[03,07-09]: resolve: no such host; check the nodelist (4 hosts)",
                               "n20: connect: timed out after 10 s (4 tries); is the host up?",
                           });
    CHECK(world.alive() == 0);
  }
}

TEST_CASE("a program that is missing or cannot be executed on one host", "[launch]") {
  SmallWorld world{{.hosts = 5, .slots = {2}}};
  const bool missing = GENERATE(true, false);
  const Error error = missing ? Error{Errc::no_program, Phase::spawn, "./app not found"}
                              : Error{Errc::not_executable, Phase::spawn, "./app cannot be executed"};
  for (const std::uint32_t process : {4U, 5U}) world.actors[process].spawn_error = error;
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == (missing ? 127 : 126));
  CHECK(errors(world).size() == 1);
  CHECK(errors(world).at(0).starts_with("n02: spawn: ./app "));
  CHECK(world.alive() == 0);
}

TEST_CASE("a host that no launcher below can reach comes back to the root, from any depth", "[launch]") {
  // A chain: host i is started by host i-1.
  SmallWorld world{{.hosts = 4, .shape = {1, 0}}};
  SECTION("the root can") {
    world.login = [](const Try& each) {
      return each.host == 3 && each.from != wire::kRootIndex ? fails(kDenied) : Outcome{};
    };
    world.run();
    REQUIRE(world.result);
    CHECK(world.result->status == 0);
    CHECK(world.actors[3].entered == 9);
    CHECK(hand_backs(world) == 3);
    CHECK(sources(tries_of(world, 3)) == std::vector<std::uint32_t>{2, 1, 0, wire::kRootIndex});
    CHECK(world.said_anywhere("n03: not reachable from its launcher", Tone::verbose));
    CHECK(errors(world).empty());
  }
  SECTION("nor can the root") {
    world.login = [](const Try& each) { return each.host == 3 ? fails(kDenied) : Outcome{}; };
    world.run();
    REQUIRE(world.result);
    CHECK(world.result->status == 125);
    CHECK(errors(world) == std::vector<std::string>{"n03: authenticate: no key was accepted"});
    CHECK(tries_of(world, 3).size() == 4);
  }
  SECTION("what the root cannot do better is not handed back") {
    world.login = [](const Try& each) {
      return each.host == 3 ? fails({Errc::handshake, Phase::handshake, "x"}) : Outcome{};
    };
    world.run();
    CHECK(hand_backs(world) == 0);
    CHECK(tries_of(world, 3).size() == 1);
  }
  CHECK(world.alive() == 0);
}

TEST_CASE("a host is started by the first launcher on the way up that can", "[launch]") {
  SmallWorld world{{.hosts = 6, .shape = {1, 0}}};
  SECTION("it is one below the root") {
    world.login = [](const Try& each) {
      return each.host == 5 && each.from > 1 ? fails(each.from == 4 ? kDenied : kNoHost) : Outcome{};
    };
    world.run();
    REQUIRE(world.result);
    CHECK(world.result->status == 0);
    CHECK(sources(tries_of(world, 5)) == std::vector<std::uint32_t>{4, 3, 2, 1});
    CHECK(hand_backs(world) == 3);
    const auto stamps = std::find_if(world.stamps.begin(), world.stamps.end(),
                                     [](const wire::Stamps& each) { return each.host == 5; });
    REQUIRE(stamps != world.stamps.end());
    CHECK(stamps->parent == 1);
    CHECK(stamps->level == 3);
    CHECK(world.actors[5].entered == 9);
  }
  SECTION("one fails for a reason that its parent has, too") {
    world.login = [](const Try& each) {
      if (each.host != 5) return Outcome{};
      return fails(each.from == 4 ? kDenied : Error{Errc::host_key_changed, Phase::host_key, "changed"});
    };
    world.run();
    REQUIRE(world.result);
    CHECK(world.result->status == 125);
    CHECK(sources(tries_of(world, 5)) == std::vector<std::uint32_t>{4, 3});
    CHECK(errors(world) == std::vector<std::string>{"n05: host key: changed"});
  }
  CHECK(world.alive() == 0);
}

TEST_CASE("many hosts that are handed back are all started, each once", "[launch]") {
  for (const wire::Shape shape : {wire::Shape{0, 0}, {2, 0}, {3, 2}}) {
    SmallWorld world{{.hosts = 26, .shape = shape}};
    world.login = [](const Try& each) {
      return each.from != wire::kRootIndex && (each.from + each.host) % 3 != 0 ? fails(kDenied) : Outcome{};
    };
    world.run();
    REQUIRE(world.result);
    CHECK(world.result->status == 0);
    std::map<std::uint32_t, int> welcomes;
    for (const Sent& each : world.sent) {
      if (holds_alternative<wire::Welcome>(each.message)) ++welcomes[each.to];
    }
    CHECK(welcomes.size() == 26);
    CHECK(std::all_of(welcomes.begin(), welcomes.end(), [](const auto& each) { return each.second == 1; }));
    for (std::uint32_t host = 0; host < 26; ++host) {
      auto from = sources(tries_of(world, host));
      std::sort(from.begin(), from.end());
      CHECK(std::adjacent_find(from.begin(), from.end()) == from.end());  // nobody tries twice
    }
    CHECK(world.alive() == 0);
  }
}

TEST_CASE("an inner host goes back to the root, its share stays", "[launch]") {
  // 2 below the root, 2 below each of them, and so on: host 1 is the first child of host 0.
  SmallWorld world{{.hosts = 14, .shape = {2, 0}}};
  world.login = [](const Try& each) {
    return each.host % 3 == 1 && each.from != wire::kRootIndex ? fails(kNoHost) : Outcome{};
  };
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 0);
  CHECK(welcomed(world).size() == 14);
  for (const Actor& actor : world.actors) CHECK(actor.entered == 9);
  std::map<std::uint32_t, int> tables;
  for (const Sent& each : world.sent) {
    if (holds_alternative<wire::TableDown>(each.message)) ++tables[each.to];
  }
  CHECK(tables.size() == 14);
  CHECK(world.alive() == 0);
}

TEST_CASE("where libssh2 has no usable key the ssh command is used, said once per launcher", "[launch]") {
  SmallWorld world{{.hosts = 6, .shape = {6, 1}}};
  world.login = [](const Try& each) {
    return each.host < 4 && each.via == Via::ssh ? fails(kNoKey) : Outcome{};
  };
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 0);
  for (std::uint32_t host = 0; host < 4; ++host) {
    const auto tries = tries_of(world, host);
    REQUIRE(tries.size() == 2);
    CHECK(tries[0].via == Via::ssh);
    CHECK(tries[1].via == Via::command);
    CHECK(tries[1].from == wire::kRootIndex);
  }
  CHECK(std::count_if(world.said.begin(), world.said.end(), [](const Say& say) {
          return say.text.find("using the ssh command") != std::string::npos;
        }) == 1);
}

TEST_CASE("a key that was taken on first use comes to the root, from any depth", "[launch]") {
  SmallWorld world{{.hosts = 3, .shape = {1, 0}, .host_keys = HostKeyPolicy::accept_new}};
  HostKey key{"ssh-ed25519", {}};
  wire::append_string(key.blob, key.type);
  wire::append_string(key.blob, std::string(32, 'k'));
  world.login = [&](const Try& each) { return Outcome{{}, 0ms, each.host == 2 ? key : HostKey{}}; };
  world.run();
  REQUIRE(world.keys.size() == 1);
  CHECK(world.keys[0].host == 2);
  CHECK(world.keys[0].key == key);
}

TEST_CASE("a process that fails while hosts are still being started ends the launch", "[launch]") {
  SmallWorld world{{.hosts = 6, .shape = {6, 1}}};
  world.actors[0].kind = Actor::Kind::plain;
  world.actors[0].signal = 11;
  world.login = [](const Try& each) { return each.host == 5 ? Outcome{{}, kForever, {}} : Outcome{}; };
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 139);
  CHECK(world.result_at < 10s);
  CHECK(world.alive() == 0);
}

TEST_CASE("++login-rate: all launchers together, retries too", "[launch]") {
  for (const wire::Shape shape : {wire::Shape{0, 0}, {3, 0}, {40, 1}}) {
    CAPTURE(shape.branching);
    SmallWorld world{{.hosts = 40, .shape = shape, .login_rate = 5'000'000}};
    world.login = [](const Try& each) {
      return each.host % 4 == 1 && each.number < 3 ? fails(kRefused, 10ms) : Outcome{};
    };
    world.run();
    REQUIRE(world.result);
    CHECK(world.result->status == 0);
    CHECK(world.tries.size() == 60);
    CHECK(world.result_at > 8s);
    CHECK(world.result_at < 60s);
    std::size_t most = 0;
    for (const Try& first : world.tries) {
      std::size_t count = 0;
      for (const Try& each : world.tries) count += each.at >= first.at && each.at < first.at + 2s ? 1 : 0;
      most = std::max(most, count);
    }
    CHECK(most <= 13);
  }
}

TEST_CASE("no start-up time lies behind the message that tells it", "[launch]") {
  SmallWorld world{{.hosts = 2, .shape = {2, 1}}};
  for (Actor& actor : world.actors) actor.life = 10s;
  wire::Stamps ahead;
  ahead.host = 1;
  ahead.times[wire::Stamps::table] = Instant{5000h};
  world.at(3s, [&] { world.forge(1, ahead); });
  world.run();
  const auto told = std::find_if(world.stamps.begin(), world.stamps.end(), [](const auto& s) {
    return s.host == 1 && s.times[wire::Stamps::table] != kNever;
  });
  REQUIRE(told != world.stamps.end());
  const Duration since_hello = told->times[wire::Stamps::table] - told->times[wire::Stamps::hello];
  CHECK(since_hello > 2s);
  CHECK(since_hello < 4s);
}

}  // namespace charmtree::node_launch_test
