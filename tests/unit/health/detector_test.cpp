// SPDX-License-Identifier: Apache-2.0
#include "health/detector.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>

#include "tree/base/random.hpp"

namespace charmtree::detector_test {

using namespace charmtree::health;

namespace {

constexpr LinkId kChild = 1, kOther = 2;

Instant at(Duration since_start) {
  return Instant{since_start};
}

/// A detector and its clock; `hears` are the links that say something in every beat.
struct Bench {
  explicit Bench(bool has_parent = false) : detector({}, has_parent) {
    detector.watch(kChild, now);
    if (has_parent) detector.watch(proto::kParentLink, now);
  }
  /// Ticks when they are wanted, `late` after that.
  void run(Duration time, std::vector<LinkId> hears = {}, Duration late = {}) {
    const Instant end = now + time;
    while (now < end) {
      now = std::min({std::max(now, detector.next_deadline()) + late, next, end});
      if (now >= next) {
        for (const LinkId link : hears) detector.heard(link, now);
        next += Timing{}.beat;
      }
      detector.tick(now, orders);
    }
  }
  /// Until the child is suspected.
  void silent() {
    last = now;
    orders = {};
    while (orders.probes.empty()) run(10ms);
  }
  static Duration beat() { return Timing{}.beat; }
  void probed(Evidence evidence) {
    orders = {};
    detector.probed(kChild, evidence, now, orders);
  }

  Instant now = at(1s), next = now;  // when something is heard
  Instant last{};                    // when it was, before a silence
  Detector detector;
  Detector::Orders orders;
};

}  // namespace

TEST_CASE("a beat goes over every link on which nothing else has gone", "[health]") {
  Bench bench;
  bench.detector.watch(kOther, bench.now);
  for (int i = 0; i < 100; ++i) {
    bench.run(100ms, {kChild, kOther});
    bench.detector.sent(kOther, bench.now);
  }
  const auto beats = [&](LinkId link) {
    return std::count(bench.orders.beats.begin(), bench.orders.beats.end(), link);
  };
  CHECK(beats(kOther) == 0);
  CHECK(beats(kChild) >= 38);
  CHECK(beats(kChild) <= 54);
  CHECK(bench.orders.probes.empty());
}

TEST_CASE("a host that is gone is known to be so within a second", "[health]") {
  Bench bench;
  bench.run(10s, {kChild});
  const Instant last = bench.now;
  bench.orders = {};
  while (bench.orders.probes.empty()) bench.run(10ms);
  CHECK(bench.now - last <= 700ms);
  const auto [link, limit] = bench.orders.probes.front();
  CHECK(link == kChild);
  bench.run(limit);
  bench.probed({bench.now - last, bench.now - last, false});
  bench.run(100ms);
  REQUIRE(bench.orders.verdicts.size() == 1);
  CHECK(bench.orders.verdicts[0].cause == Symptom::gone);
  CHECK(bench.orders.verdicts[0].silence <= 1100ms);
  CHECK(bench.detector.next_deadline() == kNever);
}

TEST_CASE("a host that still answers is given more time, as its answers say", "[health]") {
  struct Case {
    Evidence evidence;
    Symptom cause;
    Duration after;
  };
  const auto [evidence, cause, after] = GENERATE(values<Case>({
      {{1s, 10ms, true}, Symptom::frozen, 30s},
      {{1s, 10ms, false}, Symptom::frozen, 30s},  // its port is closed by a firewall
      {{1s, 1s, true}, Symptom::half_open, 8s},
      {{1s, {}, true}, Symptom::silent, 30s},  // nobody knows of acknowledgements
  }));
  Bench bench;
  bench.run(5s, {kChild});
  const Instant last = bench.now;
  bench.orders = {};
  int probes = 0;
  while (bench.orders.verdicts.empty() && bench.now - last < 60s) {
    bench.run(50ms);
    if (!bench.orders.verdicts.empty() || bench.orders.probes.empty()) continue;
    ++probes;
    Evidence now = evidence;
    now.heard = bench.now - last;
    if (now.acknowledged == 1s) now.acknowledged = bench.now - last;
    bench.probed(now);
  }
  REQUIRE(bench.orders.verdicts.size() == 1);
  CHECK(bench.orders.verdicts[0].cause == cause);
  CHECK(bench.orders.verdicts[0].silence >= after);
  CHECK(bench.orders.verdicts[0].silence < after + 1s);
  CHECK(probes >= after / 1s - 1);  // who has answered may have died since
}

TEST_CASE("whoever is heard again is suspected no longer", "[health]") {
  Bench bench;
  bench.run(5s, {kChild});
  bench.run(650ms);
  REQUIRE(bench.orders.probes.size() == 1);
  SECTION("by a message") {
    bench.detector.heard(kChild, bench.now);
  }
  SECTION("by a part of one") {
    bench.probed({1ms, {}, false});
  }
  bench.run(500ms);
  CHECK(bench.orders.verdicts.empty());
}

TEST_CASE("a silence after one that ended is suspected, too", "[health]") {
  Bench bench;
  for (int i = 0; i < 3; ++i) {
    bench.run(5s, {kChild});
    bench.orders = {};
    bench.run(700ms);
    CHECK(bench.orders.probes.size() == 1);
    bench.detector.heard(kChild, bench.now);
    if (i == 1) bench.probed({0s, 10ms, true});
  }
}

TEST_CASE("a suspect is sent more, until something has been found out", "[health]") {
  Bench bench;
  bench.run(5s, {kChild});
  while (bench.orders.probes.empty()) bench.run(1ms);
  bench.orders = {};
  bench.run(bench.beat());
  CHECK(bench.orders.beats.size() >= 4);
  CHECK(bench.orders.beats.size() <= 6);
  bench.probed({1s, 10ms, true});
  bench.run(4 * bench.beat() / 5);
  CHECK(bench.orders.beats.size() <= 1);
}

TEST_CASE("who acknowledged more than a beat after it was last heard lives", "[health]") {
  const auto [acknowledged, verdicts] = GENERATE(values<std::pair<Duration, std::size_t>>({
      {680ms, 0},
      {690ms, 1},
  }));
  Bench bench;
  bench.run(5s, {kChild});
  bench.silent();
  bench.run(1s - (bench.now - bench.last));
  bench.probed({bench.now - bench.last, acknowledged, false});
  bench.run(100ms);
  CHECK(bench.orders.verdicts.size() == verdicts);
}

TEST_CASE("missing acknowledgements of what we did not send prove nothing", "[health]") {
  Bench bench;
  bench.run(5s, {kChild});
  bench.silent();
  bench.now += 600ms;  // starved
  SECTION("the answer comes first") {
    bench.probed({bench.now - bench.last, 900ms, false});
  }
  SECTION("the timer comes first") {
    bench.detector.tick(bench.now, bench.orders);
    bench.run(20ms);
    bench.probed({bench.now - bench.last, 900ms, false});
  }
  bench.run(800ms);
  CHECK(bench.orders.verdicts.empty());
  CHECK_FALSE(bench.orders.probes.empty());
  bench.run(400ms);
  bench.probed({bench.now - bench.last, 2s, false});
  bench.run(300ms);
  CHECK(bench.orders.verdicts.size() == 1);
}

TEST_CASE("time in which we did not run is forgiven once", "[health]") {
  Bench bench;
  bench.run(5s, {kChild});
  bench.silent();
  const Duration left = bench.detector.outlook(kChild, bench.now)->left;
  bench.now += 400ms;
  bench.probed({bench.now - bench.last, 10ms, false});
  bench.detector.tick(bench.now, bench.orders);
  bench.detector.tick(bench.now, bench.orders);
  const auto outlook = bench.detector.outlook(kChild, bench.now);
  CHECK(outlook->cause == Symptom::frozen);
  CHECK(outlook->left <= 29s + left);
  CHECK(outlook->left >= 29s + left - 100ms);
}

TEST_CASE("the host behind a dead link is not gone because one packet was lost", "[health]") {
  Bench bench;
  bench.run(5s, {kChild});
  bench.silent();
  const auto found = [&](bool answers) {
    const Duration silence = bench.now - bench.last;
    bench.probed({silence, silence - 10ms, answers});
    bench.run(100ms);
    const bool is_over = !bench.orders.verdicts.empty();
    while (bench.orders.probes.empty() && bench.orders.verdicts.empty()) bench.run(10ms);
    return is_over;
  };
  CHECK_FALSE(found(true));
  CHECK(bench.orders.probes.front().second > 1s);  // its packet can be sent again
  CHECK_FALSE(found(false));
  CHECK_FALSE(found(true));
  CHECK_FALSE(found(false));
  CHECK(found(false));
  REQUIRE(bench.orders.verdicts.size() == 1);
  CHECK(bench.orders.verdicts[0].cause == Symptom::gone);
}

TEST_CASE("a link is dead only when nothing was acknowledged for long", "[health]") {
  Bench bench;
  bench.run(5s, {kChild});
  bench.silent();
  while (bench.now - bench.last < 20s && bench.orders.verdicts.empty()) {
    bench.probed({bench.now - bench.last, 800ms, true});
    bench.run(500ms);
  }
  CHECK(bench.orders.verdicts.empty());
}

TEST_CASE("time in which we did not run ourselves is nobody's fault", "[health]") {
  Bench bench;
  bench.run(5s, {kChild});
  bench.orders = {};
  bench.now += 20s;  // stopped, or starved
  bench.detector.tick(bench.now, bench.orders);
  CHECK(bench.orders.probes.empty());
  bench.detector.heard(kChild, bench.now);  // what came meanwhile
  bench.run(5s, {kChild}, 600ms);           // starved all the time
  CHECK(bench.orders.probes.empty());
  CHECK(bench.orders.verdicts.empty());
}

TEST_CASE("a parent that found us late overrules our suspicion", "[health]") {
  Bench bench{true};
  bench.run(5s, {kChild, proto::kParentLink});
  const auto silent = [&] {
    bench.orders = {};
    while (bench.orders.probes.empty()) bench.run(10ms, {proto::kParentLink});
    CHECK(bench.orders.ask_parent);
    bench.run(400ms, {proto::kParentLink});
    bench.probed({2s, 2s, false});
    bench.run(200ms, {proto::kParentLink});
  };
  silent();
  CHECK(bench.orders.verdicts.empty());  // it has not said yet
  bench.detector.parent_says(false, bench.now, bench.orders);
  silent();
  CHECK(bench.orders.verdicts.empty());
  bench.detector.parent_says(true, bench.now, bench.orders);
  REQUIRE(bench.orders.verdicts.size() == 1);
  CHECK(bench.orders.verdicts[0].link == kChild);
}

TEST_CASE("a parent knows whether its child was punctual", "[health]") {
  Bench bench;
  bench.run(5s, {kChild});
  CHECK(bench.detector.was_punctual(kChild, bench.now));
  CHECK_FALSE(bench.detector.was_punctual(kChild, bench.now + 700ms));
  CHECK_FALSE(bench.detector.was_punctual(kOther, bench.now));
}

TEST_CASE("who was late a moment ago was not punctual, although its question came at once", "[health]") {
  Bench bench;
  bench.run(5s, {kChild});
  bench.run(900ms);
  bench.detector.heard(kChild, bench.now);
  CHECK_FALSE(bench.detector.was_punctual(kChild, bench.now));
  bench.run(400ms, {kChild});
  CHECK_FALSE(bench.detector.was_punctual(kChild, bench.now));
  bench.run(200ms, {kChild});
  CHECK(bench.detector.was_punctual(kChild, bench.now));
}

TEST_CASE("what the parent once confirmed stays confirmed", "[health]") {
  Bench bench{true};
  bench.detector.watch(kOther, bench.now);
  bench.run(5s, {kChild, kOther, proto::kParentLink});
  const Instant last = bench.now;
  bench.run(700ms, {kOther, proto::kParentLink});
  bench.detector.parent_says(true, bench.now, bench.orders);
  bench.probed({700ms, 10ms, true});
  bench.run(700ms, {proto::kParentLink});  // now the other one, too
  bench.detector.parent_says(false, bench.now, bench.orders);
  CHECK(bench.detector.outlook(kChild, bench.now)->left <= last + 30s - bench.now);
  CHECK(bench.detector.outlook(kOther, bench.now)->left == Timing{}.gone_after);
}

TEST_CASE("a new parent is asked what the old one did not say", "[health]") {
  Bench bench{true};
  bench.run(5s, {kChild, proto::kParentLink});
  bench.silent();
  bench.detector.forget(proto::kParentLink);
  bench.run(300ms);
  bench.probed({1s, 1s, false});
  bench.run(100ms);
  bench.orders = {};
  bench.detector.watch(proto::kParentLink, bench.now);
  bench.run(200ms, {proto::kParentLink});
  CHECK(bench.orders.ask_parent);
  bench.detector.parent_says(true, bench.now, bench.orders);
  CHECK(bench.orders.verdicts.size() == 1);
}

// ---- a network that loses packets

namespace {

bool happens(Random& random, double probability) {
  return static_cast<double>(random.next()) < probability * 0x1p64;
}

/// One direction of a TCP connection: of the messages sent in each beat some are late by retransmission
/// time-outs, and all behind them.
class Lossy {
public:
  Lossy(Random& random, double loss) : random_(random), loss_(loss) {
    sent_ = at(random_.between(0s, Timing{}.beat));
    arrive();
  }
  /// When the next message comes.
  Instant next() const { return arrives_; }
  void arrive() {
    sent_ += Timing{}.beat;
    Instant comes = sent_ + 1ms;
    for (Duration timeout = 200ms; happens(random_, loss_); timeout *= 2) comes += timeout;
    arrives_ = std::max(arrives_, comes);
  }

private:
  Random& random_;
  double loss_;
  Instant sent_{}, arrives_{};
};

/// A minute of a link whose host lives; the verdict, if there was one.
std::optional<Verdict> minute(Random& random, double loss, int& suspicions) {
  Detector detector{{}, false};
  Detector::Orders orders;
  Lossy up{random, loss}, down{random, loss};
  Instant heard{}, acknowledged{}, answers = kNever, limit = kNever;
  detector.watch(kChild, at(0s));
  for (Instant now{}; now < at(60s);) {
    now = std::min({up.next(), down.next(), detector.next_deadline(), answers, limit});
    for (; up.next() <= now; up.arrive()) detector.heard(kChild, heard = now);
    for (; down.next() <= now; down.arrive()) acknowledged = now;
    detector.tick(now, orders);
    if (now >= earlier(answers, limit)) {
      detector.probed(kChild, {now - heard, now - acknowledged, now >= answers}, now, orders);
      answers = limit = kNever;
    }
    if (!orders.probes.empty()) {
      ++suspicions;
      answers = now + 1ms;
      for (Duration timeout = 1s; happens(random, 2 * loss); timeout *= 2) answers += timeout;
      limit = now + orders.probes.front().second;
    }
    if (!orders.verdicts.empty()) return orders.verdicts.front();
    orders = {};
  }
  return {};
}

}  // namespace

TEST_CASE("lost packets make suspects, and nobody is convicted", "[health]") {
  Random random{1};
  int suspicions = 0;
  for (int link = 0; link < 3000; ++link) REQUIRE_FALSE(minute(random, 0.01, suspicions));
  CHECK(suspicions > 0);
  suspicions = 0;
  for (int link = 0; link < 300; ++link) REQUIRE_FALSE(minute(random, 0.05, suspicions));
  CHECK(suspicions > 100);
}

TEST_CASE("our parent is given more time, and as long as it likes while its host lives", "[health]") {
  struct Case {
    Evidence evidence;
    std::optional<Duration> after;
  };
  const auto [evidence, after] = GENERATE(values<Case>({
      {{1h, 10ms, false}, {}},
      {{1h, 1h, false}, 8s},
      {{1h, 1h, true}, 8s},
      {{1h, {}, false, false}, 30s},
      {{1h, 3s, false}, {}},  // one that is only late
  }));
  Bench bench(true);
  bench.run(5s, {kChild, proto::kParentLink});
  const Instant last = bench.now;
  bench.orders = {};
  while (bench.orders.verdicts.empty() && bench.now - last < 10min) {
    bench.orders = {};
    bench.run(50ms, {kChild});
    if (bench.orders.probes.empty()) continue;
    Detector::Orders orders;
    bench.detector.probed(proto::kParentLink, evidence, bench.now, orders);
    bench.orders.verdicts.insert(bench.orders.verdicts.end(), orders.verdicts.begin(), orders.verdicts.end());
  }
  REQUIRE(bench.orders.verdicts.size() == (after ? 1 : 0));
  if (!after) return;
  CHECK(bench.orders.verdicts[0].link == proto::kParentLink);
  CHECK(bench.orders.verdicts[0].silence >= *after);
  CHECK(bench.orders.verdicts[0].silence < *after + 1s);
}

TEST_CASE("a root that hears nobody waits: its own network may be down", "[health]") {
  const bool hears_one = GENERATE(true, false);
  Bench bench;
  bench.detector.watch(kOther, bench.now);
  constexpr LinkId kHere = 3;
  bench.detector.watch(kHere, bench.now, true);
  bench.run(5s, {kChild, kOther, kHere});
  const Instant last = bench.now;
  std::vector<LinkId> heard{kHere};
  if (hears_one) heard.push_back(kOther);
  bench.orders = {};
  while (bench.orders.verdicts.empty() && bench.now - last < 10min) {
    bench.orders = {};
    bench.run(50ms, heard);
    for (const auto& [link, within] : std::vector{bench.orders.probes})
      bench.detector.probed(link, {1h, 1h, false}, bench.now, bench.orders);
  }
  REQUIRE_FALSE(bench.orders.verdicts.empty());
  CHECK(bench.orders.verdicts[0].silence >= (hears_one ? 1s : 8s));
  CHECK(bench.orders.verdicts[0].silence < (hears_one ? 2s : 9s));
}

TEST_CASE("who could not be asked is not taken for one who does not answer", "[health]") {
  Bench bench;
  bench.run(5s, {kChild});
  bench.silent();
  bench.run(1s);
  bench.probed({1h, 1h, false, false});
  bench.run(500ms);
  CHECK(bench.orders.verdicts.empty());
}

TEST_CASE("questions of a child are answered once in half a beat", "[health]") {
  Bench bench;
  bench.run(5s, {kChild});
  CHECK(bench.detector.asked(kChild, bench.now) == true);
  CHECK_FALSE(bench.detector.asked(kChild, bench.now + 1ms));
  CHECK(bench.detector.asked(kChild, bench.now + 200ms));
  CHECK_FALSE(bench.detector.asked(kOther, bench.now));
}

}  // namespace charmtree::detector_test
