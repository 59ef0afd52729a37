// SPDX-License-Identifier: Apache-2.0
// What becomes of the detector's orders in a launcher; the detector itself: detector_test.cpp.
#include "health/watch.hpp"

#include "tests/unit/part_bench.hpp"

namespace charmtree::watch_test {

using namespace charmtree::proto;

namespace {

wire::JobSpec watched() {
  wire::JobSpec job;
  job.heartbeat = {250ms, 1s, 8s};
  return job;
}

struct Bench : test::PartBench {
  explicit Bench(const wire::JobSpec& of = watched()) : PartBench(Role::root, of) {}

  /// Handles deadlines until `end`, or until something is told; hosts that are looked at answer in no way.
  void run_until(Instant end) {
    while (news.empty() && part.next_deadline() <= end) {
      at(part.next_deadline());
      part.turn(*this);
      part.note_what_is_sent(*this);
      for (const Probe& probe : take<Probe>()) {
        probes.push_back(probe);
        at(now() + probe.within);
        part.on(Probed{probe.link, {.heard = now() - Instant{100s}}}, *this);
      }
    }
  }

  health::Watch part;
  std::vector<Probe> probes;
};

}  // namespace

TEST_CASE("a child that says nothing is looked into, and told as silent", "[watch]") {
  Bench b;
  const LinkId link = b.child();
  b.part.watch(link, b);
  b.run_until(b.now() + 1min);
  REQUIRE_FALSE(b.probes.empty());
  CHECK(b.probes.front().link == link);
  REQUIRE(b.news.size() == 1);
  const auto& silent = get<LinkSilent>(b.news.front());
  CHECK(silent.link == link);
  CHECK_FALSE(silent.why.what.empty());
}

TEST_CASE("any message is a sign of life", "[watch]") {
  Bench b;
  const LinkId link = b.child();
  b.part.watch(link, b);
  for (int i = 0; i < 100; ++i) {
    b.run_until(b.now() + 200ms);
    b.at(b.now() + 200ms);
    b.part.heard(link, b);
  }
  CHECK(b.news.empty());
}

TEST_CASE("nobody is found silent while the job is suspended, nor right after", "[watch]") {
  struct Suspended final : Bench {
    void suspend() { clock_.stop(real_now_); }
    void go_on() { clock_.go_on(real_now_); }
  } b;
  const LinkId link = b.child();
  b.part.watch(link, b);
  b.suspend();
  b.at(b.now() + 1h);
  b.part.turn(b);
  CHECK(b.take<Probe>().empty());
  b.go_on();
  b.part.resume(b.real_now());
  b.part.turn(b);
  CHECK(b.take<Probe>().empty());
  CHECK(b.news.empty());
}

TEST_CASE("where there are no heartbeats nobody is watched", "[watch]") {
  wire::JobSpec job = watched();
  job.heartbeat.interval = Duration{0};
  Bench b{job};
  const LinkId link = b.child();
  b.part.watch(link, b);
  CHECK(b.part.next_deadline() == kNever);
  b.part.up(link, wire::WasPunctual{}, b);
  CHECK(b.handed_down.empty());
}

}  // namespace charmtree::watch_test
