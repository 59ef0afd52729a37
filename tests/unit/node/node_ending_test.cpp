// SPDX-License-Identifier: Apache-2.0
// Every way in which a job ends before it is done: what the user reads, with what status, how soon, and that
// nothing is left anywhere.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "tests/unit/rounds.hpp"
#include "tests/unit/small_world.hpp"
#include "tree/wire/ssh_blob.hpp"

namespace charmtree::node_ending_test {

using namespace charmtree::proto;
using namespace charmtree::test;

namespace {

/// The programs run for good unless a test says otherwise.
void run_for_good(SmallWorld& world) {
  for (Actor& actor : world.actors) actor.fate = Actor::Fate::stays;
}

template <class M>
std::size_t count(const SmallWorld& world) {
  return static_cast<std::size_t>(std::count_if(world.sent.begin(), world.sent.end(), [](const Sent& each) {
    return holds_alternative<M>(each.message);
  }));
}

void check_ended(const SmallWorld& world, int status, Duration by) {
  REQUIRE(world.result);
  CHECK(world.result->status == status);
  CHECK(world.result_at <= by);
  CHECK(world.last_exit_at <= by);
  CHECK(world.alive() == 0);
}

/// `host` and all that it was given to start.
std::set<std::uint32_t> below(const SmallWorld& world, std::uint32_t host) {
  std::set<std::uint32_t> hosts{host};
  for (const Sent& each : world.sent) {
    const auto* assign = get_if<wire::Assign>(&each.message);
    if (assign == nullptr || each.to != host) continue;
    for (const Host& given : assign->hosts) hosts.insert(given.index);
  }
  return hosts;
}

std::set<std::uint32_t> swept(const SmallWorld& world) {
  std::set<std::uint32_t> hosts;
  for (const Sent& each : world.sent) {
    if (holds_alternative<wire::Swept>(each.message)) hosts.insert(each.from);
  }
  return hosts;
}

HostKey make_host_key(char filling) {
  HostKey key{"ssh-ed25519", {}};
  wire::append_string(key.blob, key.type);
  wire::append_string(key.blob, std::string(32, filling));
  return key;
}

wire::Facts facts_of_host(std::uint32_t host) {
  wire::Facts facts;
  facts.hosts_up = {host};
  return facts;
}

constexpr Duration kRunning = 20s;  // by then every job here runs

}  // namespace

TEST_CASE("a lost launcher anywhere ends the job everywhere, and its host is swept", "[ending]") {
  for (const wire::Shape shape : {wire::Shape{1, 0}, {2, 0}, {0, 0}}) {
    for (std::uint32_t host = 0; host < 9; ++host) {
      CAPTURE(shape.branching, host);
      SmallWorld world{{.hosts = 9, .slots = {2}, .shape = shape, .seed = host}};
      run_for_good(world);
      for (Actor& actor : world.actors) actor.stubborn = actor.outlives_launcher = true;
      world.at(kRunning, [&] { world.kill_launcher(host); });
      world.run();
      check_ended(world, 125, kRunning + 5s);
      CHECK(world.said_anywhere(fmt::format("n{:02}: run: closed by the other side", host), Tone::error));
      CHECK(swept(world) == below(world, host));
      CHECK_FALSE(world.said_anywhere("did not confirm"));
    }
  }
}

TEST_CASE("a link that is cut leaves two sides that both end", "[ending]") {
  SmallWorld world{{.hosts = 9, .shape = {2, 0}}};
  run_for_good(world);
  world.at(kRunning, [&] { world.cut_link(0); });
  world.run();
  check_ended(world, 125, kRunning + 5s);
  CHECK(world.said_anywhere("n00: run: connection reset", Tone::error));
}

TEST_CASE("a root that dies takes everything along, at once", "[ending]") {
  SmallWorld world{{.hosts = 9, .slots = {2}, .shape = {2, 0}}};
  run_for_good(world);
  for (Actor& actor : world.actors) actor.stubborn = true;
  world.at(kRunning, [&] { world.kill_launcher(wire::kRootIndex); });
  world.run();
  CHECK(world.alive() == 0);
  CHECK(world.last_exit_at <= kRunning + 1s);
}

TEST_CASE("a host that cannot be swept, or says nothing any more, is named", "[ending]") {
  SmallWorld world{{.hosts = 6, .shape = {2, 0}}};
  run_for_good(world);
  SECTION("the sweeper's login fails") {
    world.login = [](const Try& each) {
      if (each.host != 4 || each.at < kRunning) return Outcome{};
      return Outcome{Error{Errc::refused, Phase::connect, "refused"}, 0ms, {}};
    };
    world.at(kRunning, [&] { world.kill_launcher(4); });
  }
  SECTION("the sweeper's login gets no answer") {
    world.login = [](const Try& each) {
      return Outcome{{}, each.host == 4 && each.at >= kRunning ? kForever : 0ms, {}};
    };
    world.at(kRunning, [&] { world.kill_launcher(4); });
  }
  SECTION("the launcher is frozen: its own parent names it, not the parent's parent") {
    world.at(kRunning, [&] { world.freeze_launcher(4); });
    world.at(kRunning, [&] { world.user_signal(15); });
  }
  world.run();
  REQUIRE(world.result);
  CHECK(world.result_at <= kRunning + 2s + 3s + 100ms);
  CHECK(world.said_anywhere("n04: did not confirm that the job has ended there", Tone::error));
  CHECK(world.said_anywhere("did not confirm"));
}

TEST_CASE("sweepers that wait for each other are named, too", "[ending]") {
  SmallWorld world{{.hosts = 6, .shape = {2, 0}, .batch = 1}};
  run_for_good(world);
  world.login = [](const Try& each) { return Outcome{{}, each.at >= kRunning ? kForever : 0ms, {}}; };
  world.at(kRunning, [&] { world.kill_launcher(0); });
  world.run();
  check_ended(world, 125, kRunning + 5s + 100ms);
  CHECK(world.said_anywhere("n[00-02]: did not confirm that the job has ended there", Tone::error));
}

TEST_CASE("a child that speaks for others is cut off and ends the job", "[ending]") {
  // Host 0 and its share, host 3 and its share are the root's children; 1, 2 are below 0 and 4, 5 below 3.
  wire::Facts failed, code, exits, blocks, again, many, twice, crowd, left, watching;
  failed.hosts_failed = {{4, {}}};
  code.code = wire::Code{4, 7};
  exits.exits = {{4, 1}};
  blocks.blocks = {{4, 4, 0, {{1, ""}}}};
  again.blocks = {{0, 0, 0, {{1, ""}}}};
  many.ended = 6;
  twice.exits = {{0, 1}, {0, 1}};
  left.exited_ok = 1;
  left.first_ok = 4;
  crowd.barrier[0] = 4;
  watching.who_ended = {{0, 0}};  // which nobody wants to know
  const std::vector<wire::Message> forged = {
      facts_of_host(4),
      facts_of_host(99),
      facts_of_host(0),  // told already
      failed,
      code,
      exits,
      blocks,
      again,
      many,
      crowd,
      left,
      twice,
      watching,
      wire::Output{4, 1, false, "x"},
      wire::Output{0, 7, false, "x"},
      wire::ScanUp{4, "%d"},
      wire::AbortUp{5, 1, "x"},
      wire::LinkLost{3, {}},
      wire::NewHostKey{4, {"ssh-ed25519", "x"}},
      wire::NewHostKey{0, {"ssh-ed25519", "x"}},  // its own
      wire::Note{4, "x"},
      wire::Note{wire::kRootIndex, "x"},
      wire::Stamps{4},
      wire::Stamps{0},            // told already
      wire::HandBack{{{0, {}}}},  // it is up
      wire::HandBack{{{4, {}}}},
      wire::SignRequest{0, 1, 4, "x"},
      wire::SignRequest{0, 1, 0, "x"},  // its own
      wire::SignRequest{4, 1, 1, "x"},
      wire::SignRequest{99, 1, 1, "x"},
      wire::SignReply{0, 1, "x"},  // of the wrong direction
      input::InputReturned{"x"},
      wire::Done{{4}},
      wire::Swept{1},
      wire::End{},  // of the wrong direction
      wire::Welcome{},
  };
  for (std::size_t i = 0; i < forged.size(); ++i) {
    CAPTURE(i);
    // The first of each pair of hosts is below the root; the job's input goes to process 0, below host 0.
    const std::uint32_t liar = holds_alternative<input::InputReturned>(forged[i]) ? 3 : 0;
    SmallWorld world{{.hosts = 6, .shape = {2, 2}}};
    run_for_good(world);
    world.at(kRunning, [&] { world.forge(liar, forged[i]); });
    world.run();
    check_ended(world, 125, kRunning + 5s);
    CHECK((world.said_anywhere("spoke for hosts that it was not given", Tone::error) ||
           world.said_anywhere("broke the protocol", Tone::error)));
    CHECK(world.out.find('x') == std::string::npos);
    CHECK(world.keys.empty());
    CHECK(swept(world) == below(world, liar));
  }
}

TEST_CASE("a host key that a child reports is judged, and refused in one line", "[ending]") {
  const auto policy = GENERATE(HostKeyPolicy::strict, HostKeyPolicy::accept_new);
  SmallWorld world{{.hosts = 6, .shape = {2, 2}, .host_keys = policy}};
  run_for_good(world);
  const HostKey first = make_host_key('a'), second = make_host_key('b');
  world.at(kRunning, [&] {
    for (int i = 0; i < 100; ++i) {  // of a host that it was given
      world.forge(0, wire::NewHostKey{1, first});
      world.forge(0, wire::NewHostKey{1, second});
    }
  });
  world.at(kRunning + 1s, [&] {
    CHECK(world.alive() == 1 + 6 + 6);
    world.user_signal(2);
  });
  world.run();
  const bool asked_for = policy == HostKeyPolicy::accept_new;
  CHECK(world.keys.size() == (asked_for ? 1 : 0));
  if (asked_for) CHECK((world.keys.front().host == 1 && world.keys.front().key == first));
  CHECK(std::count_if(world.said.begin(), world.said.end(), [](const Say& say) {
          return say.text.starts_with("n01: a host key that was reported for it is not added: ");
        }) == 1);
}

TEST_CASE("garbage, silence and strangers on the loopback socket disturb nobody", "[ending]") {
  SmallWorld world{{.hosts = 3, .slots = {2}}};
  for (Actor& actor : world.actors) actor.life = 1s;
  constexpr ClientId kStranger = 1000;
  world.at(500ms, [&] {
    for (std::uint32_t host = 0; host < 3; ++host)
      world.client_bytes(host, kStranger + host, "GET / HTTP/1.1\r\n\r\n                      ");
  });
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 0);
  CHECK(world.alive() == 0);
}

TEST_CASE("an interrupt ends the job with a grace, a second one at once", "[ending]") {
  for (const bool plain : {false, true}) {
    for (const bool twice : {false, true}) {
      CAPTURE(plain, twice);
      SmallWorld world{{.hosts = 9, .slots = {2}, .shape = {2, 0}}};
      for (Actor& actor : world.actors) {
        actor.kind = plain ? Actor::Kind::plain : Actor::Kind::charm;
        actor.fate = Actor::Fate::stays;
        if (plain) actor.life = 1000s;
        actor.stubborn = true;
      }
      world.at(kRunning, [&] { world.user_signal(2); });
      if (twice) world.at(kRunning + 500ms, [&] { world.user_signal(2); });
      world.run();
      check_ended(world, 130, kRunning + (twice ? 1s : 3s));
      if (!twice) CHECK(world.last_exit_at >= kRunning + 2s);
      CHECK(world.result->signal == 2);
      for (const Actor& actor : world.actors) {
        CHECK(actor.signals ==
              (plain ? std::vector<int>{2, 9} : std::vector<int>{9}));  // stock clients: quietly
      }
    }
  }
}

TEST_CASE("processes that heed the interrupt are not waited for", "[ending]") {
  SmallWorld world{{.hosts = 9}};
  run_for_good(world);
  world.at(kRunning, [&] { world.user_signal(2); });
  world.run();
  check_ended(world, 130, kRunning + 500ms);
}

TEST_CASE("a second interrupt reaches launchers below one whose own processes are gone", "[ending]") {
  SmallWorld world{{.hosts = 3, .shape = {1, 0}, .grace = 100s}};
  run_for_good(world);
  world.actors[2].stubborn = true;
  world.at(kRunning, [&] { world.user_signal(2); });
  world.at(kRunning + 3s, [&] { world.user_signal(2); });
  world.run();
  check_ended(world, 130, kRunning + 4s);
}

TEST_CASE("an interrupt during the launch ends it", "[ending]") {
  SmallWorld world{{.hosts = 9, .shape = {3, 0}}};
  world.login = [](const Try& each) { return Outcome{{}, each.host == 7 ? kForever : 0ms, {}}; };
  world.at(2s, [&] { world.user_signal(15); });
  world.run();
  check_ended(world, 143, 5s);
  CHECK(world.said_anywhere("during the launch (8 of 9 hosts are up)", Tone::info));
}

TEST_CASE("interrupts at any moment of the launch leave nothing behind", "[ending]") {
  const std::uint32_t step = rounds(5, 1);
  for (std::uint64_t seed = 0; seed < 200; seed += step) {
    CAPTURE(seed);
    SmallWorld world{{.hosts = 12, .slots = {1, 2}, .shape = {3, 0}, .seed = seed}};
    const Duration when = 7ms * seed;
    world.at(when, [&] { world.user_signal(2); });
    world.run();
    REQUIRE(world.result);
    CHECK(world.alive() == 0);
    CHECK(world.last_exit_at <= when + 6s);
  }
}

TEST_CASE("launchers that die at any moment leave nothing behind", "[ending]") {
  const std::uint32_t step = rounds(5, 1);  // odd and even seeds
  for (std::uint64_t seed = 0; seed < 200; seed += step) {
    CAPTURE(seed);
    SmallWorld world{{.hosts = 12, .slots = {1, 2}, .shape = {3, 0}, .seed = seed}};
    for (Actor& actor : world.actors) actor.outlives_launcher = seed % 2 == 0;
    const Duration when = 300ms + 7ms * seed;
    world.at(when, [&] {
      for (std::uint32_t host = seed % 12;; host = (host + 1) % 12) {
        try {
          return world.kill_launcher(host);
        } catch (const NobodyThere&) {  // not there yet, or no more
          if (host == (seed + 11) % 12) return;
        }
      }
    });
    world.run();
    REQUIRE(world.result);
    CHECK(world.alive() == 0);
    CHECK(world.result_at <= when + 6s);
  }
}

TEST_CASE("the time limit is 124", "[ending]") {
  SmallWorld world{{.hosts = 5, .time_limit = 30s}};
  run_for_good(world);
  world.run();
  check_ended(world, 124, 31s);
  CHECK(world.said_anywhere("Time limit reached", Tone::error));
}

TEST_CASE("an abort is 1 and names its process", "[ending]") {
  SmallWorld world{{.hosts = 9, .shape = {2, 0}}};
  run_for_good(world);
  world.actors[8].fate = Actor::Fate::aborts;
  world.run();
  check_ended(world, 1, 10s);
  CHECK(world.said_anywhere("n08: run: process 8: aborted: on purpose", Tone::error));
}

TEST_CASE("a registered process that is gone without ending: 128+n, its code, or 1", "[ending]") {
  struct Case {
    std::uint8_t code, signal;
    int status;
    const char* words;
  };
  const Case each = GENERATE(Case{0, 11, 139, "killed by signal 11"}, Case{0, 9, 137, "killed by signal 9"},
                             Case{3, 0, 3, "exited with status 3 without the end of its protocol"},
                             Case{0, 0, 1, "exited with status 0 without the end of its protocol"});
  SmallWorld world{{.hosts = 4, .slots = {2}}};
  run_for_good(world);
  world.actors[5].fate = Actor::Fate::exits;
  world.actors[5].code = each.code;
  world.actors[5].signal = each.signal;
  world.run();
  check_ended(world, each.status, 10s);
  CHECK(world.said_anywhere(fmt::format("n02: run: process 5: {}", each.words), Tone::error));
}

TEST_CASE("a process that exits before it registers ends the job of those that wait for it", "[ending]") {
  SmallWorld world{{.hosts = 4, .slots = {2}}};
  world.actors[3].kind = Actor::Kind::plain;
  const bool early = GENERATE(true, false);
  world.actors[3].life = early ? 1ms : 5s;
  SECTION("with a code") {
    world.actors[3].code = 3;
    world.run();
    check_ended(world, 3, 10s);
    CHECK(world.said_anywhere("n01: start: process 3: exited with status 3 before registering", Tone::error));
  }
  SECTION("with 0") {
    world.run();
    check_ended(world, 125, 10s);
    CHECK(world.said_anywhere("n01: start: process 3: exited with status 0 before registering, while ",
                              Tone::error));
    CHECK(world.said_anywhere("; do all processes run the same program?", Tone::error));
  }
  SECTION("by a signal") {
    world.actors[3].signal = 6;
    world.run();
    check_ended(world, 134, 10s);
    CHECK((world.said_anywhere("n01: start: process 3: killed by signal 6", Tone::error) ||
           world.said_anywhere("n01: run: process 3: killed by signal 6", Tone::error)));
  }
}

TEST_CASE("processes that never register end the launch after ++timeout", "[ending]") {
  SmallWorld world{{.hosts = 4, .slots = {2}}};
  world.actors[2].life = world.actors[6].life = kForever;
  world.run();
  check_ended(world, 125, 60s + 4s);
  CHECK(world.said_anywhere("2 of 8 processes have not registered within 60 s", Tone::error));
}

TEST_CASE("plain programs: an exit does not end the job, a signal does", "[ending]") {
  SmallWorld world{{.hosts = 4, .slots = {2}}};
  for (Actor& actor : world.actors) {
    actor.kind = Actor::Kind::plain;
    actor.life = 30s;
  }
  SECTION("exit") {
    world.actors[1].code = 7;
    world.actors[1].life = 1s;
    world.run();
    check_ended(world, 7, 32s);
    CHECK(world.result_at >= 30s);
  }
  SECTION("signal") {
    world.at(kRunning, [&] { world.kill_process(1, 11); });
    world.run();
    check_ended(world, 139, kRunning + 1s);
    CHECK(world.actors[0].signals == std::vector<int>{15});
  }
  SECTION("of those that come together the lowest number is the first") {
    world.actors[1].code = 4;
    world.actors[0].code = 5;
    world.actors[0].life = world.actors[1].life = 1s;
    world.actors[7].code = 6;
    world.actors[7].life = 29s;
    world.run();
    REQUIRE(world.result);
    CHECK((world.result->status == 5 || world.result->status == 4));
  }
}

}  // namespace charmtree::node_ending_test
