// SPDX-License-Identifier: Apache-2.0
// Which Charm++ clients owe their launcher a sign of life, and when one is missing.
#include <catch2/catch.hpp>

#include "tests/unit/charm_capture.hpp"
#include "tests/unit/what_happened.hpp"
#include "tree/clients/charm_server.hpp"
#include "tree/wire/charm_message.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::charm_silence_test {

using namespace charmtree::proto;
using wire::make_charm_message;

namespace {

/// Two processes, 0 and 1, by connections 100 and 101, in a job of as many.
struct Fixture {
  explicit Fixture(Duration silence) : server{{0, 2, 2}, {.silence = silence}} {
    for (const std::uint32_t process : {0U, 1U}) {
      server.opened(100 + process, now, out);
      server.received(100 + process, process == 0 ? charm_capture::kInitnode0 : charm_capture::kInitnode1,
                      now, out);
    }
  }
  void table() {
    server.table(wire::encode(wire::NodeTable{0, 1, {{0, 0, 1, {{1, {}}, {2, {}}}}}}), out);
    out.clear();
  }
  void says(std::uint32_t process, std::string_view type, std::string_view text = {}) {
    server.received(100 + process, make_charm_message(type, text), now, out);
  }
  /// Lets time pass up to then, and looks when it is due. Process 1 pings all the time.
  void until(Duration time) {
    while (now < Instant{time}) {
      now += 1s;
      says(1, "ping");
      if (server.next_deadline() > now) continue;
      server.tick(now, out);
      for (const Unheard& each : test::only<Unheard>(std::exchange(out, {}))) {
        looked.push_back(now - Instant{});
        server.seen(each.process, Sight::running, now, out);
      }
      for (const wire::Silence& each : test::only<wire::Silence>(out)) told.push_back(each);
    }
  }

  CharmServer server;
  Instant now{};
  ClientOutputs out;
  std::vector<Duration> looked;
  std::vector<wire::Silence> told;
};

}  // namespace

TEST_CASE("a client that says nothing is looked at once, when its time is over", "[silence]") {
  Fixture f{20s};
  f.table();
  f.until(5s);
  f.says(0, "ping");
  f.until(100s);
  CHECK(f.looked == std::vector<Duration>{25s});
  REQUIRE(f.told.size() == 1);
  CHECK((f.told[0].process == 0 && f.told[0].lasted == 20s));
  f.out.clear();
  f.says(0, "ping");
  REQUIRE(test::only<wire::Silence>(f.out).size() == 1);
  CHECK(test::only<wire::Silence>(f.out)[0].state == wire::Silence::State::over);
}

TEST_CASE("no client is looked at that waits for us, or is done", "[silence]") {
  const std::string what =
      GENERATE(as<std::string>{}, "table", "barrier", "barrier0", "scanf", "printsyn", "ending");
  CAPTURE(what);
  Fixture f{20s};
  if (what != "table") f.table();
  if (what != "table")
    f.says(0, what, what == "scanf" ? std::string_view{"%d\0", 3} : std::string_view{"0\0", 2});
  f.until(200s);
  CHECK(f.looked.empty());
  CHECK(f.told.empty());
}

TEST_CASE("who is let go is watched again", "[silence]") {
  Fixture f{20s};
  f.table();
  f.says(0, "barrier");
  f.until(50s);
  f.server.release(BarrierKind::all, f.out);
  f.until(200s);
  REQUIRE(f.looked.size() == 1);
  CHECK((f.looked[0] >= 70s && f.looked[0] <= 72s));
}

TEST_CASE("two pings must be missing at least", "[silence]") {
  Fixture f{100ms};
  f.table();
  f.says(0, "ping");
  f.until(20s);
  REQUIRE(f.looked.size() == 1);
  CHECK((f.looked[0] >= 3s && f.looked[0] <= 6s));  // of 1.5 s with two processes
}

TEST_CASE("nobody is looked at unless that is wanted", "[silence]") {
  Fixture f{0s};
  f.table();
  f.until(1000s);
  CHECK(f.looked.empty());
}

}  // namespace charmtree::charm_silence_test
