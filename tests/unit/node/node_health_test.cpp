// SPDX-License-Identifier: Apache-2.0
// Hosts and launchers that fall silent, in jobs whose launchers watch each other.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/unit/small_world.hpp"
#include "tree/base/signals.hpp"

namespace charmtree::node_health_test {

using namespace charmtree::proto;
using namespace charmtree::test;

namespace {

constexpr Duration kRunning = 20s;  // by then every job here runs
constexpr wire::Heartbeat kHeartbeat{250ms, 1s, 8s};

/// Nine hosts in a chain: host 0 started 1, which started 2, ...; they run for good.
struct Chain : SmallWorld {
  Chain() : SmallWorld{{.hosts = 9, .shape = {1, 0}, .heartbeat = kHeartbeat}} {
    for (Actor& actor : actors) actor.fate = Actor::Fate::stays;
  }
  template <class M>
  std::size_t count() const {
    return static_cast<std::size_t>(std::count_if(
        sent.begin(), sent.end(), [](const Sent& each) { return holds_alternative<M>(each.message); }));
  }
};

}  // namespace

TEST_CASE("a host without power is missed within a second, and ends the job", "[health]") {
  for (std::uint32_t host = 0; host < 9; ++host) {
    CAPTURE(host);
    Chain chain;
    chain.at(kRunning, [&] { chain.unplug(host); });
    chain.run();
    REQUIRE(chain.result);
    CHECK(chain.result->status == 125);
    CHECK(chain.result_at <= kRunning + 1500ms + 5s);  // its sweeper is waited for
    CHECK(chain.said_anywhere("n0" + std::to_string(host) + ": run: the host is gone: silent for 1",
                              Tone::error));
    const auto lost = std::find_if(chain.sent.begin(), chain.sent.end(), [](const Sent& each) {
      return holds_alternative<wire::LinkLost>(each.message);
    });
    if (host > 0) CHECK(lost->at <= kRunning + 1100ms);
  }
}

TEST_CASE("who hears nothing from above any more ends all that is below", "[health]") {
  Chain chain;
  chain.at(kRunning, [&] { chain.unplug(3); });
  chain.run();
  CHECK(chain.alive() == 1);  // the launcher without power
  CHECK(chain.last_exit_at <= kRunning + 10s);
}

TEST_CASE("a frozen launcher is given as long as hosts may take to start", "[health]") {
  Chain chain;
  chain.at(kRunning, [&] { chain.freeze_launcher(3); });
  chain.run();
  REQUIRE(chain.result);
  CHECK(chain.result_at >= kRunning + 60s);
  CHECK(chain.result_at <= kRunning + 61s + 5s);
  CHECK(chain.said_anywhere("n03: run: its launcher is frozen: silent for 60", Tone::error));
}

TEST_CASE("nobody is orphaned by a root that is stopped on a host that lives", "[health]") {
  Chain chain;
  chain.at(kRunning, [&] { chain.freeze_launcher(wire::kRootIndex); });
  chain.run(5min);
  CHECK(chain.alive() == 10 + 9);
}

TEST_CASE("a suspended job watches nobody, and begins anew when it goes on", "[health]") {
  Chain chain;
  std::size_t beats = 0;
  chain.at(kRunning, [&] { chain.user_signal(signals::kTerminalStop); });
  chain.at(kRunning + 1s, [&] { beats = chain.count<wire::BeatUp>(); });
  chain.at(kRunning + 1h, [&] {
    CHECK(chain.count<wire::BeatUp>() == beats);
    chain.user_signal(signals::kContinue);
  });
  chain.at(kRunning + 1h + 1min, [&] {
    CHECK(chain.alive() == 10 + 9);
    CHECK(chain.count<wire::BeatUp>() > beats);
    chain.unplug(8);
  });
  chain.run(2h);
  REQUIRE(chain.result);
  CHECK(chain.said_anywhere("n08: run: the host is gone", Tone::error));
}

TEST_CASE("beats are sent only where nothing else is, and by nobody if nobody is to be watched", "[health]") {
  Chain chain;
  chain.at(kRunning, [&] { chain.user_signal(signals::kTerminate); });
  chain.run();
  const double intervals = kRunning / kHeartbeat.interval * 9;
  CHECK(static_cast<double>(chain.count<wire::BeatUp>()) < 2 * intervals);
  CHECK(static_cast<double>(chain.count<wire::BeatUp>()) > intervals / 2);

  SmallWorld quiet{{.hosts = 2}};
  for (Actor& actor : quiet.actors) actor.fate = Actor::Fate::stays;
  quiet.at(kRunning, [&] { quiet.user_signal(signals::kTerminate); });
  quiet.run();
  CHECK(std::none_of(quiet.sent.begin(), quiet.sent.end(), [](const Sent& each) {
    return holds_alternative<wire::Beat>(each.message) || holds_alternative<wire::BeatUp>(each.message);
  }));
}

}  // namespace charmtree::node_health_test
