// SPDX-License-Identifier: Apache-2.0
#include "charmrun/plan/history.hpp"

#include <catch2/catch.hpp>

#include "charmrun/plan/login_log.hpp"

namespace charmtree::history_test {

namespace {

std::vector<LoginSample> logins(const std::string& pattern, std::size_t count, Duration latency) {
  return std::vector<LoginSample>(count, LoginSample{pattern, latency});
}

Host host(const std::string& name, std::uint32_t profile = 0) {
  Host result;
  result.name = name;
  result.profile = profile;
  return result;
}

std::vector<Profile> profiles_of(std::initializer_list<Via> vias) {
  std::vector<Profile> profiles;
  for (const Via via : vias) profiles.emplace_back().via = via;
  return profiles;
}

wire::Stamps login_of(std::uint32_t host, Duration latency, bool by_ssh = true) {
  wire::Stamps stamps{host, wire::kRootIndex, 1, 1};
  stamps.times[wire::Stamps::begun] = Instant{1s};
  if (by_ssh) stamps.times[wire::Stamps::handshaken] = Instant{1s} + latency / 2;
  stamps.times[wire::Stamps::hello] = Instant{1s} + latency;
  return stamps;
}

}  // namespace

TEST_CASE("a pattern is the name without its numbers", "[history]") {
  CHECK(host_pattern("node01.rack2.site", Via::ssh) == "ssh node#.rack#.site");
  CHECK(host_pattern("10.1.20.300", Via::command) == "command #.#.#.#");
  CHECK(host_pattern("login", Via::ssh) == "ssh login");
  CHECK(host_pattern("a\nb", Via::ssh).empty());
  CHECK(host_pattern("caf\xc3\xa9", Via::ssh).empty());
  CHECK(host_pattern(std::string(500, 'x'), Via::ssh).empty());
  CHECK(host_pattern(std::string(500, '7'), Via::ssh) == "ssh #");
}

TEST_CASE("quantiles of one launch", "[history]") {
  std::vector<LoginSample> samples;
  for (int i = 10; i >= 1; --i) samples.push_back({"ssh n#", i * 10ms});
  History history;

  history.add(samples, 3ms);

  const History::Pattern* pattern = history.find("ssh n#");
  REQUIRE(pattern != nullptr);
  CHECK(pattern->logins == 10);
  CHECK(pattern->median == 50ms);
  CHECK(pattern->slow == 90ms);
  CHECK(pattern->occupancy == 3ms);
  CHECK(history.find("ssh m#") == nullptr);
}

TEST_CASE("later launches count more, large ones too", "[history]") {
  History history;
  history.add(logins("ssh n#", 10, 100ms), 2ms);
  history.add(logins("ssh n#", 8, 200ms), 4ms);  // the first 10 count as 8 now
  CHECK(history.find("ssh n#")->median == 150ms);
  CHECK(history.find("ssh n#")->occupancy == 3ms);
  CHECK(history.find("ssh n#")->logins == 18);

  history.add(logins("ssh n#", 1, 10s), 0ms);  // one bad login is not forgotten, but is no rule
  CHECK(seconds(history.find("ssh n#")->median) == Approx((0.8 * 16 * 0.150 + 10) / 13.8));
  CHECK(history.find("ssh n#")->occupancy == 3ms);

  for (int launch = 0; launch < 30; ++launch) history.add(logins("ssh n#", 10, 300ms), 5ms);
  CHECK(seconds(history.find("ssh n#")->median) == Approx(0.3).epsilon(0.01));
  CHECK(seconds(history.find("ssh n#")->occupancy) == Approx(0.005).epsilon(0.01));
}

TEST_CASE("the longest unused pattern makes room, and the document stays small", "[history]") {
  History history;
  for (std::size_t i = 0; i <= History::kMaxPatterns; ++i) {
    history.add(logins("ssh " + std::string(190, '"') + static_cast<char>('0' + i), 1, 1s), 1ms);
    if (i == 5) history.add(logins("ssh old", 1, 1s), 1ms);
  }
  CHECK(history.patterns().size() == History::kMaxPatterns);
  CHECK(history.find("ssh " + std::string(190, '"') + "0") == nullptr);
  CHECK(history.find("ssh old") != nullptr);
  CHECK(history.text().size() <= History::kMaxText);
  CHECK(History::parse(history.text()).ok());
}

TEST_CASE("what was written is what is read", "[history]") {
  History history;
  history.add(logins("ssh n#", 7, 123456us), 2345us);
  history.add(logins("command \"x\\", 1, 40ms), 0ms);

  const auto read = History::parse(history.text());

  REQUIRE(read.ok());
  CHECK(read->text() == history.text());
  CHECK(read->find("ssh n#")->median == 123456us);
  CHECK(read->find("ssh n#")->occupancy == 2345us);
  CHECK(read->find("command \"x\\")->occupancy == 0ms);
}

TEST_CASE("a broken document is an error, never a crash", "[history]") {
  History history;
  history.add(logins("ssh n#", 7, 100ms), 2ms);
  const std::string good = history.text();
  for (std::size_t size = 0; size + 2 < good.size(); ++size)
    CHECK_FALSE(History::parse(good.substr(0, size)).ok());
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return History::parse(text).ok();
  };
  CHECK(changed("\"logins\": 7", "\"logins\": 8"));
  CHECK_FALSE(changed("\"format\": 1", "\"format\": 2"));
  CHECK_FALSE(changed("\"weight\": 7.0", "\"weight\": -7.0"));
  CHECK_FALSE(changed("\"weight\": 7.0", "\"weight\": 1e999"));
  CHECK_FALSE(changed("\"latency_p50_ms\": 100.0", "\"latency_p50_ms\": -1"));
  CHECK_FALSE(changed("\"latency_p50_ms\": 100.0", "\"latency_p50_ms\": \"\""));
  CHECK_FALSE(History::parse("[]").ok());
  CHECK_FALSE(History::parse(std::string(60'000, '[')).ok());
  CHECK_FALSE(History::parse(std::string(History::kMaxText + 1, ' ')).ok());
}

TEST_CASE("costs of a job: measured for the hosts that are known, assumed for the others", "[history]") {
  const auto profiles = profiles_of({Via::ssh, Via::local, Via::command});
  History history;
  history.add(logins("ssh n#", 20, 400ms), 6400us);

  const LoginCosts known =
      login_costs(history, std::vector{host("n1"), host("n2"), host("here", 1)}, profiles);
  CHECK(known.postal.latency == 400ms);
  CHECK(known.postal.occupancy == 6400us);
  CHECK(known.slow_latency == 400ms);
  CHECK(known.logins == 20);
  CHECK(known.known == 2);
  CHECK(known.ssh == 2);
  CHECK(known.local == 1);
  CHECK(known.patterns == std::vector<std::string>{"ssh n#"});

  const LoginCosts half = login_costs(history, std::vector{host("n1"), host("other")}, profiles);
  CHECK(half.postal.latency == 325ms);
  CHECK(half.postal.occupancy == 4400us);
  CHECK(half.known == 1);
  CHECK(half.remote() == 2);

  const LoginCosts none = login_costs(history, std::vector{host("other")}, profiles);
  CHECK(none.postal.latency == proto::Postal{}.latency);
  CHECK(none.postal.occupancy == proto::Postal{}.occupancy);
  CHECK(none.slow_latency == 0ms);

  const LoginCosts command = login_costs(history, std::vector{host("n1", 2)}, profiles);
  CHECK(command.postal.occupancy == 18ms);
  CHECK(command.known == 0);
  CHECK(login_costs(history, std::vector{host("n1", 1)}, profiles).postal.latency == 5ms);
}

TEST_CASE("what no login can cost does not reach the engine", "[history]") {
  const auto profiles = profiles_of({Via::ssh});
  History history;
  history.add(logins("ssh n#", 1, 9000s), 9000s);
  history.add(logins("ssh m#", 1, 1ns), 1ns);
  const LoginCosts slow = login_costs(history, std::vector{host("n1")}, profiles);
  CHECK(slow.postal.latency == 10s);
  CHECK(slow.postal.occupancy == 1s);
  const LoginCosts quick = login_costs(history, std::vector{host("m1")}, profiles);
  CHECK(quick.postal.latency == 5ms);
  CHECK(quick.postal.occupancy == 500us);
}

TEST_CASE("the root's own logins are logged, once", "[history]") {
  const auto profiles = profiles_of({Via::ssh, Via::local});
  const std::vector<Host> hosts{host("n0"), host("n1"), host("here", 1)};
  LoginLog log{hosts, profiles};

  log.stamped(login_of(0, 200ms), 5ms);
  log.stamped(login_of(1, 300ms), 6ms);
  log.stamped(login_of(2, 3ms), 7ms);  // a local launcher is no login
  wire::Stamps reported = login_of(1, 300ms);
  reported.times[wire::Stamps::prepared] = Instant{2s};
  log.stamped(reported, 1s);
  wire::Stamps elsewhere = login_of(1, 300ms);
  elsewhere.parent = 0;
  log.stamped(elsewhere, 1s);
  wire::Stamps beyond = login_of(77, 300ms);
  log.stamped(beyond, 1s);

  REQUIRE(log.samples().size() == 2);
  CHECK(log.samples()[1].pattern == "ssh n#");
  CHECK(log.samples()[1].latency == 300ms);
  CHECK(log.occupancy() == 3ms);

  log.stamped(login_of(0, 250ms, false), 10ms);  // a fallback to the ssh command
  CHECK(log.samples().back().pattern == "command n#");
  CHECK(log.occupancy() == 0ms);
}

}  // namespace charmtree::history_test
