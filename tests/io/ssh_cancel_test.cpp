// SPDX-License-Identifier: Apache-2.0
// Logins given up at any moment: nothing is called, nothing leaks (the sanitizer presets run these tests,
// too).
#include <catch2/catch.hpp>

#include <optional>

#include "tests/io/ssh_fixture.hpp"
#include "tree/base/random.hpp"
#include "tree/io/clock.hpp"

namespace charmtree::ssh_cancel_test {

using namespace charmtree::io;
using namespace charmtree::io::test;

TEST_CASE("a login can be cancelled at any step", "[ssh]") {
  SshdSetup setup;
  setup.extra = "MaxStartups 1000";
  const Sshd sshd(setup);
  Bench bench;
  Instant begun = now();
  REQUIRE(bench.login(sshd.host(), sshd.profile()).link);
  const Duration whole = 2 * (now() - begun);
  Random random(11);
  int cancelled = 0;
  for (int i = 0; i < 60; ++i) {
    bool called = false;
    const auto id =
        bench.transport.login(sshd.host(), sshd.profile(), "cat", {}, [&](LoginResult) { called = true; });
    begun = now();
    const Duration delay = random.between(Duration::zero(), whole);
    bench.run_until([&] { return called || now() - begun >= delay; });
    if (called) continue;
    bench.transport.cancel(id);
    ++cancelled;
    bench.io.restart();
    bench.io.run();
    CHECK_FALSE(called);
  }
  CHECK(cancelled > 10);
  CHECK(bench.login(sshd.host(), sshd.profile()).link);
}

TEST_CASE("a login can be cancelled after each number of loop steps", "[ssh]") {
  const Sshd sshd;
  Bench bench;
  for (int steps = 0; steps < 40; ++steps) {
    bool called = false;
    const auto id =
        bench.transport.login(sshd.host(), sshd.profile(), "cat", {}, [&](LoginResult) { called = true; });
    bench.io.restart();
    for (int i = 0; i < steps && !called; ++i) bench.io.run_one();
    bench.transport.cancel(id);
    bench.transport.cancel(id);
    bench.io.restart();
    bench.io.run();
    if (called) break;
  }
}

TEST_CASE("the transport may go while logins are under way", "[ssh]") {
  const Sshd sshd;
  asio::io_context io;
  Resolver resolver(io);
  for (const int steps : {0, 1, 3, 6, 12, 20}) {
    auto transport = std::make_unique<SshTransport>(io, resolver, Bench::nobody());
    for (int i = 0; i < 3; ++i) {
      transport->login(sshd.host(), sshd.profile(), "cat", {}, [](LoginResult) {});
    }
    io.restart();
    for (int i = 0; i < steps; ++i) io.run_one();
    transport.reset();
    io.restart();
    io.run();
  }
}

TEST_CASE("the loop may go while logins and links are under way", "[ssh]") {
  const Sshd sshd;
  for (const int steps : {0, 1, 5, 10, 15, 20, 30}) {
    auto io = std::make_unique<asio::io_context>();
    auto resolver = std::make_unique<Resolver>(*io);
    auto transport = std::make_unique<SshTransport>(*io, *resolver, Bench::nobody());
    std::optional<LoginResult> outcome;
    transport->login(sshd.host(), sshd.profile(), "cat", {}, [&](LoginResult result) {
      outcome = std::move(result);
      (void)collect(*outcome->link);
    });
    for (int i = 0; i < steps; ++i) io->run_one_for(1s);
    outcome.reset();
    transport.reset();
    resolver.reset();
    io.reset();
  }
}

TEST_CASE("many logins at a time", "[ssh]") {
  SshdSetup setup;
  setup.extra = "MaxStartups 1000";
  const Sshd sshd(setup);
  Bench bench;
  int ended = 0, good = 0;
  static constexpr int kLogins = 30;
  for (int i = 0; i < kLogins; ++i) {
    bench.transport.login(sshd.host(), sshd.profile(), "true", {}, [&](LoginResult result) {
      ++ended;
      good += result.link != nullptr;
    });
  }
  REQUIRE(bench.run_until([&] { return ended == kLogins; }));
  CHECK(good == kLogins);
}

}  // namespace charmtree::ssh_cancel_test
