// SPDX-License-Identifier: Apache-2.0
#include "charmrun/plan/plan.hpp"

#include <catch2/catch.hpp>
#include <sstream>

#include "charmrun/plan/placement.hpp"

namespace charmtree::plan_test {

namespace {

Options words(std::vector<std::string> argv) {
  argv.insert(argv.begin(), {"charmrun", "++plan"});
  const auto options = parse_options(argv, {});
  REQUIRE(options.ok());
  REQUIRE(options->mode == Mode::plan);
  return *options;
}

LoginCosts by_ssh(std::uint64_t hosts) {
  LoginCosts costs;
  costs.ssh = hosts;
  return costs;
}

std::string plan(const Options& options, const LoginCosts& costs, const std::vector<std::uint32_t>& slots) {
  const auto text = plan_text(options, costs, slots);
  REQUIRE(text.ok());
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(line.size() <= 100);
    CHECK((line.empty() || line.back() != ' '));
  }
  return *text;
}

bool has(const std::string& text, std::string_view part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("++plan is the first word, needs no program and takes the options", "[plan]") {
  CHECK(words({"+p8", "./app", "x"}).program == "./app");
  CHECK(words({}).program.empty());
  CHECK(words({"++numHosts", "100000"}).counts.host_limit == 100'000);
  const std::vector<std::string> late{"charmrun", "./app", "++plan"};
  REQUIRE_FALSE(parse_options(late, {}).ok());
  CHECK(has(parse_options(late, {}).error().what, "++plan can only be the first word"));
  const std::vector<std::string> hidden{"charmrun", "./app", "++", "++plan"};
  CHECK(parse_options(hidden, {})->arguments == std::vector<std::string>{"++plan"});
  CHECK(parse_options(hidden, {})->mode == Mode::run);
}

TEST_CASE("a plan looks at every host of the list", "[plan]") {
  const std::vector<std::uint32_t> slots{2, 0, 3};
  const auto all = place(words({"+p1"}), slots);
  REQUIRE(all.ok());
  CHECK(all->hosts == std::vector<HostShare>{{0, 0, 2}, {2, 2, 3}});
  CHECK(place(words({"++numHosts", "1"}), slots)->hosts.size() == 1);
  CHECK(place(words({"++numHosts", "99"}), slots)->hosts.size() == 2);
  CHECK_FALSE(place(words({}), std::vector<std::uint32_t>{}).ok());
}

TEST_CASE("a plan for more hosts than the list has", "[plan]") {
  const std::string text = plan(words({"++numHosts", "10000"}), by_ssh(3), {1, 1, 1});
  CHECK(has(text, "A start of 10000 processes on 10000 hosts; nothing was started."));
  CHECK(has(text, "3 by ssh; 9997 more like them assumed"));
  CHECK(has(text, "250 ms until the launcher there answers, 2.4 ms of its parent's time"));
  CHECK(has(text, "assumed: no login to such hosts has been measured yet"));
  CHECK(has(text, "late binding: about 3 levels; the root starts 230 hosts"));
  CHECK(has(text, "105 keep a launcher busy"));
  CHECK(has(text, "logins         800 ms     800 ms   every launcher runs"));
  CHECK(has(text, "basic (2)"));
  CHECK(has(text, "24.45 s   SMP-aware (4)"));  // 250.72 ms + 10000 (2.4 + 0.02) ms
  CHECK(has(text, "985 ms   d-level (5)"));     // 2 (250.72 + 100 * 2.42) ms
  CHECK(has(text, "3.869 s   batched (7)"));    // 492.7 ms + 12.5 * 250.72 ms + 242 ms
}

TEST_CASE("a plan of the paper's tree", "[plan]") {
  const std::string text =
      plan(words({"++numHosts", "1024", "++branching", "32", "++levels", "2", "++batch", "16", "+p16384"}),
           by_ssh(3), {1, 1, 1});
  CHECK(has(text, "16384 processes on 1024 hosts"));
  CHECK(has(text, "fixed: 2 levels, at most 32 children each; the root starts 32 hosts"));
  CHECK(has(text, "16 logins at a time; 105 keep a launcher busy"));
  CHECK(has(text, "1.070 s"));  // 2 (250 + 250) ms + (15 + 14) 2.4 ms: two bursts of 16 on both levels
  CHECK(has(text, "16 processes on each host"));
  CHECK(has(text, "the same in batches of 16"));
}

TEST_CASE("a plan with measured costs says so, and what the slow logins would do", "[plan]") {
  LoginCosts costs = by_ssh(64);
  costs.local = 1;
  costs.postal = {2ms, 100ms};
  costs.slow_latency = 300ms;
  costs.known = 60;
  costs.logins = 640;
  costs.patterns = {"ssh node#"};
  const std::string text = plan(words({"+p65"}), costs, std::vector<std::uint32_t>(65, 1));
  CHECK(has(text, "1 on this machine, 64 by ssh\n"));
  CHECK(has(text, "100 ms (slow: 300 ms) until the launcher there answers, 2.0 ms"));
  CHECK(has(text, "measured: 640 logins to \"ssh node#\"; assumed for 4 of the 64 hosts"));
  CHECK(has(text, "if slow"));
  CHECK(has(text, "428 ms"));  // 300 ms + 64 * 2 ms
}

TEST_CASE("only as many hosts as there are processes take part", "[plan]") {
  const std::string text = plan(words({"+p4"}), by_ssh(10), std::vector<std::uint32_t>(10, 1));
  CHECK(has(text, "4 processes on 4 hosts"));
  CHECK(has(text, "10 by ssh; 4 of them are used"));
  const auto bad = plan_text(words({"+p5", "++ppn", "2"}), by_ssh(3), std::vector<std::uint32_t>(3, 1));
  REQUIRE_FALSE(bad.ok());
  CHECK(has(bad.error().what, "+p5 cannot be divided"));
}

TEST_CASE("a plan says when ++numHosts is more than there are processes", "[plan]") {
  const std::string text =
      plan(words({"++numHosts", "1000", "+p8"}), by_ssh(8), std::vector<std::uint32_t>(8, 1));
  CHECK(has(text, "A start of 8 processes on 8 hosts"));
  CHECK(has(text, "only 8 of ++numHosts 1000 get a process; without +p and ++n each would"));
  CHECK_FALSE(has(plan(words({"++numHosts", "1000", "+p1000"}), by_ssh(8), {1}), "get a process"));
  CHECK_FALSE(has(plan(words({"++numHosts", "1000"}), by_ssh(8), {1}), "get a process"));
}

TEST_CASE("spares, a cap of the window and a login rate are planned with", "[plan]") {
  const std::string text = plan(
      words({"++on-host-failure", "spare", "++spare-hosts", "2", "++maxssh", "4", "++login-rate", "5/s"}),
      by_ssh(10), std::vector<std::uint32_t>(10, 1));
  CHECK(has(text, "8 processes on 10 hosts"));
  CHECK(has(text, "4 logins at a time, 5 a second in all; 105 keep a launcher busy"));
  CHECK(has(text, "2.050 s"));  // 9 / 5 s + 250 ms
}

TEST_CASE("a plan for this machine, and for hosts of which nothing is known", "[plan]") {
  LoginCosts here;
  here.local = 8;
  here.postal = {600us, 5ms};
  CHECK(has(plan(words({"++hosts", "8"}), here, std::vector<std::uint32_t>(8, 1)), "8 on this machine\n"));
  here.local = 1;
  const std::string far = plan(words({"++numHosts", "100000"}), here, {1});
  CHECK(has(far, "1 on this machine; 99999 more are assumed"));
  CHECK(has(far, "937 ms"));
}

TEST_CASE("a plan says where the processes would be", "[plan]") {
  CHECK(has(plan(words({"+p7", "++ppn", "1"}), by_ssh(3), {1, 1, 1}),
            "3 processes on 1 host, 2 processes on 2 hosts; 1 PE in each process"));
  CHECK(has(plan(words({"+p8", "++ppn", "2"}), by_ssh(2), {1, 1}),
            "2 processes on each host; 2 PEs in each process"));
  const std::vector<std::uint32_t> four{1, 1, 1, 1};
  const auto text = plan_text(words({}), by_ssh(4), four, {CpuUnit::host, 3});
  REQUIRE(text.ok());
  CHECK(has(*text, "12 processes on 4 hosts"));
}

TEST_CASE("where hosts' processors count, a plan assumes those of this machine", "[plan]") {
  const Topology here{2, 8, 16};
  const std::vector<std::uint32_t> one{1}, three{1, 1, 1};
  const auto text = plan_text(words({}), by_ssh(3), three, {CpuUnit::socket, 1, CpuUnit::pu}, here);
  REQUIRE(text.ok());
  CHECK(has(*text, "6 processes on 3 hosts"));
  CHECK(has(*text, "2 processes on each host; 7 PEs in each process"));
  CHECK(has(*text, "by the 2 sockets, 8 cores, 16 PUs of this machine, which are assumed of every host"));
  const auto own = plan_text(words({"++local"}), LoginCosts{.local = 1}, one, {CpuUnit::core, 1}, here);
  REQUIRE(own.ok());
  CHECK(has(*own, "8 processes on the host; 1 PE in each process"));
  CHECK(has(*own, "by the 2 sockets, 8 cores, 16 PUs of this machine\n"));
  const auto refused = plan_text(words({}), by_ssh(1), one, {CpuUnit::host, 3, CpuUnit::core}, here);
  REQUIRE_FALSE(refused.ok());
  CHECK(has(refused.error().what, "8 worker threads (++oneWthPerCore) cannot be divided among 3 processes"));
}

}  // namespace charmtree::plan_test
