// SPDX-License-Identifier: Apache-2.0
// Numbers by hand; and the table of published shapes, which was computed with another program (t_c = 2.4 ms,
// L = 250 ms and others; docs/DESIGN.md, 4, has its optima).
#include "tree/overlay/predictor.hpp"

#include <catch2/catch.hpp>

#include "tree/overlay/host_pool.hpp"

namespace charmtree::predictor_test {

using namespace charmtree::proto;

namespace {

const PaperTimes kTimes{10ms, 200ms, 5ms, 15ms, 20ms, 1ms};  // T_c = 230 ms
constexpr Postal kLibssh2{2400us, 250ms}, kSsh{18ms, 250ms};

double fixed(const Postal& postal, const wire::Shape& shape, std::uint64_t hosts) {
  return seconds(static_tree(postal, shape, hosts).time);
}

/// The same launch, launcher by launcher, with the pool that launchers have.
Duration by_hand(const Postal& postal, const wire::Shape& shape, std::uint32_t level, std::uint32_t hosts) {
  HostPool pool{shape, level};
  std::vector<Host> list(hosts);
  for (std::uint32_t i = 0; i < hosts; ++i) list[i].index = i;
  pool.add(list);
  Duration end{0};
  for (std::int64_t child = 0; auto host = pool.take(); ++child) {
    const auto below = static_cast<std::uint32_t>(pool.share(host->index).size());
    end = std::max(end, child * postal.occupancy + postal.latency + by_hand(postal, shape, level + 1, below));
  }
  return end;
}

}  // namespace

TEST_CASE("the paper's equations, by hand: 4096 processes on 256 hosts, k = 16", "[predictor]") {
  CHECK(kTimes.once() == 230ms);                            // (3)
  CHECK(basic_startup(kTimes, 4096) == 86'246ms);           // (2): 230 + 4096 (20 + 1)
  CHECK(smp_aware_startup(kTimes, 256, 16) == 9446ms);      // (4): 230 + 256 (20 + 16)
  CHECK(multi_level_startup(kTimes, 2, 16, 16) == 1372ms);  // (5): 2 (230 + 16 * 21) + 16 * 15
  CHECK(paper_levels(256, 16) == Approx(2));                // (6)
  CHECK(batched_startup(kTimes, 2, 16, 8, 16) == 1602ms);   // (7): 566 + 2 * 230 + 16 (20 + 16)
}

TEST_CASE("the paper's equations agree where they say the same", "[predictor]") {
  CHECK(smp_aware_startup(kTimes, 100, 1) == basic_startup(kTimes, 100));
  CHECK(multi_level_startup(kTimes, 1, 100, 4) == smp_aware_startup(kTimes, 100, 4));
  CHECK(batched_startup(kTimes, 3, 10, 10, 4) == multi_level_startup(kTimes, 3, 10, 4));
  CHECK(paper_levels(10'000, 32) == Approx(2.6575).epsilon(1e-4));
  CHECK(paper_levels(10, 32) == 1);
  CHECK(paper_levels(10, 1) == 1);
}

TEST_CASE("fixed trees take what the table of shapes says", "[predictor]") {
  const auto near = [](double value) { return Approx(value).margin(0.0099); };  // it has two digits
  CHECK(fixed(kLibssh2, {4, 0}, 256) == near(1.02));
  CHECK(fixed(kLibssh2, {32, 0}, 256) == near(0.59));
  CHECK(fixed(kLibssh2, {64, 0}, 256) == near(0.65));
  CHECK(fixed(kLibssh2, {32, 0}, 1024) == near(0.64));
  CHECK(fixed(kLibssh2, {4, 0}, 10'000) == near(1.79));
  CHECK(fixed(kLibssh2, {32, 0}, 10'000) == near(0.92));
  CHECK(fixed(kLibssh2, {64, 0}, 10'000) == near(1.05));
  CHECK(fixed(kLibssh2, choose_shape(10'000, 0, 0), 10'000) == near(0.97));
  CHECK(fixed(kLibssh2, {64, 0}, 100'000) == near(1.11));
  CHECK(fixed(kLibssh2, choose_shape(1'000'000, 0, 0), 1'000'000) == Approx(5.3).margin(0.051));
  CHECK(fixed(kLibssh2, {10'000, 1}, 10'000) == Approx(24).margin(0.5));
  CHECK(fixed(kSsh, {32, 0}, 10'000) == near(1.99));
}

TEST_CASE("fixed trees take what the pool's parts take", "[predictor]") {
  for (const std::uint32_t branching : {1U, 2U, 3U, 7U, 16U}) {
    for (const std::uint32_t levels : {0U, 1U, 2U, 3U}) {
      for (const std::uint32_t hosts : {1U, 2U, 5U, 16U, 17U, 31U, 100U, 101U, 257U}) {
        const wire::Shape shape{branching, levels};
        for (const Postal& postal : {kLibssh2, Postal{300ms, 50ms}})
          CHECK(static_tree(postal, shape, hosts).time == by_hand(postal, shape, 0, hosts));
      }
    }
  }
  const TreeForecast chain = static_tree(kLibssh2, {1, 0}, 1'000'000);
  CHECK(chain.time == 1'000'000 * 250ms);
  CHECK(chain.levels == 1'000'000);
  CHECK(static_tree(kLibssh2, {4, 0}, 0).time == 0ms);
}

TEST_CASE("late binding: the bound, and the tree that goes with it", "[predictor]") {
  const TreeForecast small = late_tree(kLibssh2, 64);
  CHECK(small.time == 250ms + 63 * 2400us);
  CHECK(small.levels == 1);
  CHECK(small.root_degree == 64);
  const TreeForecast large = late_tree(kLibssh2, 10'000);
  CHECK(seconds(large.time) == Approx(0.80).margin(0.005));
  CHECK(large.levels == 3);
  CHECK(large.root_degree == Approx(230).margin(2));
  CHECK(late_tree(kLibssh2, 100'000).root_degree == Approx(287).margin(2));
  CHECK(late_tree(kLibssh2, 0).root_degree == 0);
  CHECK(late_tree({0ms, 0ms}, 10).root_degree <= 10);
}

TEST_CASE("a window that is too small holds logins up", "[predictor]") {
  StartupPlan plan{.hosts = 100, .processes = 100, .shape = {100, 1}};
  CHECK(forecast(plan).logins == 250ms + 99 * 2400us);
  plan.window = 105;  // latency / occupancy
  CHECK(forecast(plan).logins == 250ms + 99 * 2400us);
  plan.window = 10;
  CHECK(forecast(plan).logins == 10 * 250ms + 9 * 2400us);  // ten bursts
  plan.window = 1;
  CHECK(forecast(plan).logins == 100 * 250ms);
}

TEST_CASE("a login rate of all launchers together is a floor", "[predictor]") {
  StartupPlan plan{.hosts = 1001, .processes = 1001, .login_rate = 100};
  CHECK(forecast(plan).logins == 10s + 250ms);
  CHECK(forecast(plan).gather < 100ms);
  plan.login_rate = 1'000'000;
  CHECK(forecast(plan).logins == late_tree(kLibssh2, 1001).time);
}

TEST_CASE("late binding with a window", "[predictor]") {
  CHECK(late_tree(kLibssh2, 127, 1).time == 7 * 250ms);  // doubles each 250 ms
  CHECK(late_tree(kLibssh2, 128, 1).time == 8 * 250ms);
  CHECK(late_tree(kLibssh2, 128, 1).root_degree == 8);
  CHECK(late_tree(kLibssh2, 16, 16).time == 250ms + 15 * 2400us);
  CHECK(late_tree(kLibssh2, 17, 16).time == 500ms);
  CHECK(late_tree(kLibssh2, 17, 16).root_degree == 17);
  for (const std::uint64_t hosts : {1, 105, 106, 1000, 100'000}) {
    CHECK(late_tree(kLibssh2, hosts, 105).time <= late_tree(kLibssh2, hosts).time + 5ms);
    CHECK(late_tree(kLibssh2, hosts, 1000).time == late_tree(kLibssh2, hosts).time);
    CHECK(late_tree(kLibssh2, hosts, 1000).root_degree == late_tree(kLibssh2, hosts).root_degree);
  }
  // What the simulator's launches took.
  CHECK(seconds(late_tree(kLibssh2, 100, 1).time) == Approx(1.751).epsilon(0.01));
  CHECK(seconds(late_tree(kLibssh2, 1000, 16).time) == Approx(0.802).epsilon(0.03));
  CHECK(seconds(late_tree(kLibssh2, 10'000).time) == Approx(0.805).epsilon(0.01));
  CHECK(fixed(kLibssh2, {32, 0}, 1000) == Approx(0.644).epsilon(0.01));
}

TEST_CASE("phases after the logins", "[predictor]") {
  StartupPlan plan{.hosts = 100, .processes = 1550, .shape = {10, 0}};
  plan.costs.spawn = 1ms;
  plan.costs.receive = 1ms;
  plan.costs.hop = 5ms;
  plan.costs.link_bytes_per_ms = 1000;
  plan.costs.table_bytes_per_process = 2;

  const StartupForecast result = forecast(plan);

  CHECK(result.tree.levels == 2);
  CHECK(result.tree.root_degree == 10);
  CHECK(result.logins == 2 * 250ms + 9 * 2400us + 8 * 2400us);
  CHECK(result.processes == 16ms);
  CHECK(result.gather == 2 * 6ms + 17 * 1ms + 3100us);      // both levels' ways up; 3100 bytes
  CHECK(result.table == 2 * (4100us + 5ms) + 17 * 4100us);  // 9 and 8 children come before the last
  plan.shape = {};
  CHECK(forecast(plan).logins == late_tree(kLibssh2, 100).time);
  CHECK(forecast(plan).table > 0ms);
  CHECK(forecast({}).logins == 0ms);
}

}  // namespace charmtree::predictor_test
