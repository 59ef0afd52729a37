// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>

#include "tests/io/ssh_fixture.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/resolver.hpp"

namespace charmtree::ssh_resolver_test {

using namespace charmtree::io;
using namespace charmtree::io::test;

namespace {

const asio::ip::address kAddress = asio::ip::make_address("198.18.0.1");

/// "slow..." takes 1.5 s, "bad..." does not exist, "deaf..." gets no answer.
Result<Addresses> fake(const std::string& name) {
  if (name.starts_with("slow")) usleep(1'500'000);  // tidy: allow(sleep) this is what getaddrinfo does
  if (name.starts_with("bad")) return Error(Errc::no_such_host, Phase::resolve, "no such host");
  if (name.starts_with("deaf")) return Error(Errc::timed_out, Phase::resolve, "no answer");
  return Addresses{kAddress};
}

void run_until(asio::io_context& io, const std::function<bool()>& done) {
  const Instant deadline = now() + 10s;
  while (!done() && now() < deadline) {
    if (io.stopped()) io.restart();
    io.run_one_for(50ms);
  }
  REQUIRE(done());
}

}  // namespace

TEST_CASE("numeric addresses need no thread and no look-up", "[resolver]") {
  asio::io_context io;
  Resolver resolver(io, {}, fake);
  std::vector<std::string> got;
  for (const char* name : {"127.0.0.1", "::1", "fe80::1%lo"}) {
    resolver.resolve(name, 1s, [&](Result<Addresses> result) { got.push_back(result->at(0).to_string()); });
  }
  CHECK(got.empty());  // never from inside resolve()
  io.run();
  CHECK(got.size() == 3);
  CHECK(resolver.threads() == 0);
}

TEST_CASE("names that hang do not hold up the good ones behind them", "[resolver]") {
  asio::io_context io;
  Resolver resolver(io, {}, fake);
  int slow = 0, good = 0;
  for (int i = 0; i < 60; ++i) {
    resolver.resolve("slow" + std::to_string(i), 5s, [&](Result<Addresses>) { ++slow; });
  }
  const Instant begun = now();
  for (int i = 0; i < 20; ++i) {
    resolver.resolve("good" + std::to_string(i), 5s, [&](Result<Addresses> result) { good += result.ok(); });
  }
  run_until(io, [&] { return good == 20; });
  CHECK(now() - begun < 1400ms);
  CHECK(slow == 0);
  CHECK(resolver.threads() > 60);
  CHECK(resolver.threads() <= ResolverLimits{}.max_threads);
}

TEST_CASE("the number of threads has a limit", "[resolver]") {
  asio::io_context io;
  ResolverLimits limits;
  limits.threads = 2;
  limits.max_threads = 5;
  limits.patience = 10ms;
  Resolver resolver(io, limits, fake);
  int ended = 0;
  for (int i = 0; i < 15; ++i)
    resolver.resolve("slow" + std::to_string(i), 500ms, [&](Result<Addresses>) { ++ended; });
  run_until(io, [&] { return ended == 15; });
  CHECK(resolver.threads() == 5);
}

TEST_CASE("a name has a deadline of its own", "[resolver]") {
  asio::io_context io;
  Resolver resolver(io, {}, fake);
  Errc code = Errc::internal;
  const Instant begun = now();
  resolver.resolve("slow", 100ms, [&](Result<Addresses> result) { code = result.error().code; });
  run_until(io, [&] { return code != Errc::internal; });
  CHECK(code == Errc::timed_out);
  CHECK(now() - begun < 1s);
}

TEST_CASE("answers and permanent failures are kept, transient ones are asked again", "[resolver]") {
  asio::io_context io;
  auto asked = std::make_shared<std::atomic<int>>(0);
  Resolver resolver(io, {}, [asked](const std::string& name) {
    ++*asked;
    return fake(name);
  });
  for (int round = 0; round < 3; ++round) {
    int ended = 0;
    for (const char* name : {"good", "good", "bad", "deaf"})
      resolver.resolve(name, 5s, [&](Result<Addresses>) { ++ended; });
    run_until(io, [&] { return ended == 4; });
  }
  CHECK(*asked == 1 + 1 + 3);
}

TEST_CASE("a cancelled request calls nobody", "[resolver]") {
  asio::io_context io;
  Resolver resolver(io, {}, fake);
  bool called = false, other = false;
  const auto one = resolver.resolve("good", 5s, [&](Result<Addresses>) { called = true; });
  const auto two = resolver.resolve("127.0.0.1", 5s, [&](Result<Addresses>) { called = true; });
  resolver.resolve("good", 5s, [&](Result<Addresses>) { other = true; });
  resolver.cancel(one);
  resolver.cancel(two);
  resolver.cancel(two);
  run_until(io, [&] { return other; });
  CHECK_FALSE(called);
}

TEST_CASE("the resolver may go while its threads hang", "[resolver]") {
  asio::io_context io;
  {
    Resolver resolver(io, {}, fake);
    for (int i = 0; i < 20; ++i)
      resolver.resolve("slow" + std::to_string(i), 5s, [](Result<Addresses>) { FAIL("called"); });
    io.run_for(50ms);
  }
  io.restart();
  io.run();
}

TEST_CASE("the system's resolver knows localhost and tells a wrong name from silence", "[resolver]") {
  const Result<Addresses> good = Resolver::system_lookup("localhost");
  REQUIRE(good.ok());
  CHECK(good->at(0).is_loopback());
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit none = before;
  none.rlim_cur = 0;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  const Result<Addresses> starved = Resolver::system_lookup("no-such-host.invalid");
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  REQUIRE_FALSE(starved.ok());
  CHECK(starved.error().what == "out of file descriptors");

  const Result<Addresses> bad = Resolver::system_lookup("no-such-host.invalid");
  REQUIRE_FALSE(bad.ok());
  CHECK(bad.error().phase == Phase::resolve);
}

}  // namespace charmtree::ssh_resolver_test
