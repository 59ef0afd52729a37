// SPDX-License-Identifier: Apache-2.0
#include "kvs/worlds.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/what_happened.hpp"
#include "tree/node/root_controller.hpp"

namespace charmtree::worlds_test {

using namespace charmtree::proto;
using test::only;

namespace {

/// Three hosts, with 2, 1 and 1 processes.
struct Bench {
  explicit Bench(const wire::LossRules& loss = {}, bool up = true) : controller(plan(loss)) {
    controller.begin(now);
    if (up) start({0, 1, 2});
  }
  /// These hosts have started their processes.
  void start(std::vector<std::uint32_t> hosts) {
    wire::Facts facts;
    facts.hosts_up = std::move(hosts);
    orders = {};
    controller.facts(std::move(facts), now);
    controller.turn(now, out, orders);
  }
  static RootPlan plan(const wire::LossRules& loss) {
    RootPlan plan;
    if (!serves_mpi) plan.job.spawn.mpi.pmi = wire::MpiService::Pmi::none;
    plan.job.spawn.mpi.may_spawn = may_spawn;
    plan.job.hosts = 3;
    plan.job.processes = 4;
    plan.job.loss = loss;
    plan.hosts.resize(3);
    for (std::uint32_t i = 0; i < 3; ++i) {
      plan.hosts[i].index = i;
      plan.hosts[i].name = "n" + std::to_string(i);
      plan.hosts[i].processes = i == 0 ? 2 : 1;
    }
    number_processes(plan.hosts);
    return plan;
  }
  static wire::ProgramWanted program(std::uint32_t processes, std::vector<std::string> hosts = {}) {
    return {{0, {"worker"}, {}, false, {}}, processes, std::move(hosts)};
  }
  /// What process 3 is answered.
  std::optional<wire::Answered> ask(std::vector<wire::ProgramWanted> programs) {
    return ask(wire::WorldWanted{3, {2, ++number}, std::move(programs), "given"});
  }
  std::optional<wire::Answered> ask(const wire::WorldWanted& wanted) {
    orders = {};
    controller.message(wanted, now, out, orders);
    if (orders.process.empty()) return {};
    REQUIRE(orders.process.size() == 1);
    CHECK(orders.process[0].first == 3);
    return get<wire::Answered>(orders.process[0].second);
  }
  std::vector<wire::WorldBegun> begun() const { return only<wire::WorldBegun>(orders.everyone); }

  /// What the root prints in the turn of `ask`.
  std::vector<Say> said() const { return only<Say>(out); }

  static inline bool serves_mpi = true, may_spawn = true;
  Instant now{10s};
  Actions out;
  RootOrders orders;
  RootController controller;
  std::uint64_t number = 0;
};

}  // namespace

TEST_CASE("processes of a world go to the hosts with the fewest", "[worlds]") {
  Bench b;
  const auto answer = b.ask({Bench::program(3), Bench::program(2)});
  REQUIRE(answer);
  CHECK((answer->failure.empty() && answer->bytes == "4"));
  REQUIRE(b.begun().size() == 1);
  const wire::WorldBegun world = b.begun()[0];
  CHECK((world.by == 3 && world.service == 2 && world.given == "given"));
  CHECK(world.shares == std::vector<wire::Share>{{0, 4, 1}, {1, 5, 1}, {2, 6, 1}, {1, 7, 1}, {2, 8, 1}});
  REQUIRE(world.programs.size() == 2);
  CHECK((world.programs[0].first == 4 && world.programs[0].begins_world));
  CHECK((world.programs[1].first == 7 && !world.programs[1].begins_world));
  CHECK(b.controller.judge().places().host_of(8).name == "n2");
}

TEST_CASE("a world that is asked for again is begun once", "[worlds]") {
  Bench b;
  const wire::WorldWanted wanted{3, {2, 7}, {Bench::program(1)}, {}};
  CHECK(b.ask(wanted)->bytes == "4");
  CHECK(b.ask(wanted)->bytes == "4");
  CHECK(b.begun().empty());
}

TEST_CASE("a world may name its hosts", "[worlds]") {
  Bench b;
  CHECK(b.ask({Bench::program(2, {"n2", "elsewhere"})})->failure.empty());
  CHECK(b.begun().at(0).shares == std::vector<wire::Share>{{2, 4, 2}});
  CHECK(b.ask({Bench::program(2, {"elsewhere"})})->failure == "the job has no host called elsewhere");
  CHECK(b.begun().empty());
}

TEST_CASE("a world that is requested before all hosts are up begins when they are", "[worlds]") {
  Bench b({}, false);
  const wire::WorldWanted wanted{3, {2, 7}, {Bench::program(1)}, {}};
  CHECK(!b.ask(wanted));
  CHECK(!b.ask(wanted));  // again, as no answer has come
  b.start({0, 1});
  CHECK((b.orders.process.empty() && b.begun().empty()));
  b.start({2});
  REQUIRE((b.orders.process.size() == 1 && b.begun().size() == 1));
  const auto answer = get<wire::Answered>(b.orders.process[0].second);
  CHECK((answer.id == wanted.id && answer.failure.empty() && answer.bytes == "4"));
  b.start({});
  CHECK((b.orders.process.empty() && b.begun().empty()));
  CHECK(b.ask(wanted)->bytes == "4");
}

TEST_CASE("requests that wait for the hosts have a limit in bytes", "[worlds]") {
  Bench b({}, false);
  wire::WorldWanted wanted{3, {2, 0}, {Bench::program(1)}, std::string(1U << 20, 'g')};
  std::size_t kept = 0;
  std::optional<wire::Answered> answer;
  while (kept < 100 && !answer) {
    ++wanted.id.number;
    answer = b.ask(wanted);
    kept += answer ? 0 : 1;
  }
  CHECK(kept == Worlds::kMaxEarlyBytes / (1U << 20) - 1);
  REQUIRE(answer);
  CHECK(answer->failure == "requests of 4 MiB wait until all hosts are up");
  b.start({0, 1, 2});
  REQUIRE((b.orders.process.size() == kept && b.begun().size() == kept));
  // All in one turn, and none has the numbers of another.
  for (std::uint32_t i = 0; i < kept; ++i) CHECK(b.begun()[i].shares.at(0).first_process == 4 + i);
}

TEST_CASE("a request that is refused anyway does not wait for the hosts", "[worlds]") {
  Bench::may_spawn = false;
  Bench b({}, false);
  Bench::may_spawn = true;
  const auto answer = b.ask({Bench::program(1)});
  REQUIRE(answer);
  CHECK(answer->failure == "nothing shows that the program is MPI (++allow-spawn)");
  b.start({0, 1, 2});
  CHECK((b.orders.process.empty() && b.begun().empty()));
}

TEST_CASE("a world that cannot be is refused", "[worlds]") {
  CHECK(Bench{}.ask(std::vector<wire::ProgramWanted>{})->failure == "no program is named");
  CHECK(Bench{}.ask({Bench::program(0)})->failure == "a program without processes");
  CHECK(Bench{}.ask({Bench::program(wire::kMaxProcesses)})->failure.starts_with("a job may have"));
  CHECK(Bench({.recovery = wire::Recovery::go_on}).ask({Bench::program(1)})->failure.find("++on-failure") !=
        std::string::npos);
  CHECK(Bench({.keep_alive = 10s}).ask({Bench::program(1)})->failure.find("++keep-alive") !=
        std::string::npos);
  CHECK(Bench({.recovery = wire::Recovery::whole}).ask({Bench::program(1)})->failure.empty());
  Bench::serves_mpi = false;
  CHECK(Bench{}.ask({Bench::program(1)})->failure == "the job serves no MPI (++pmi)");
  Bench::serves_mpi = true;
}

TEST_CASE("what a job gives to the programs that its processes start has a limit in all", "[worlds]") {
  Bench b;
  wire::WorldWanted wanted{3, {2, 0}, {Bench::program(1)}, std::string(1U << 20, 'g')};
  std::size_t begun = 0;
  do {
    ++wanted.id.number;
  } while (b.ask(wanted)->failure.empty() && ++begun < 100);
  CHECK(begun == Worlds::kMostBytes / (1U << 20) - 1);
  CHECK(b.ask({Bench::program(1)})->failure.empty());
}

TEST_CASE("no process is started where the root has not allowed it, whatever a launcher claims", "[worlds]") {
  Bench::may_spawn = false;
  Bench b;
  Bench::may_spawn = true;
  const wire::WorldWanted wanted{3, {2, 1}, {Bench::program(1, {"n0"})}, {}};
  const auto answer = b.ask(wanted);
  REQUIRE(answer);
  CHECK(answer->failure == "nothing shows that the program is MPI (++allow-spawn)");
  CHECK((answer->bytes.empty() && b.begun().empty()));
  CHECK(b.ask({Bench::program(1)})->failure == answer->failure);
  CHECK(b.begun().empty());
  const std::vector<Say> lines = b.said();
  const auto names_option = [](const Say& each) { return each.text.find("++allow-spawn") != each.text.npos; };
  REQUIRE(std::count_if(lines.begin(), lines.end(), names_option) == 1);
  const Say line = *std::find_if(lines.begin(), lines.end(), names_option);
  CHECK((line.tone == Tone::info && line.text.starts_with("n2: process 3 wants to start other processes")));
}

TEST_CASE("a host is given no more than so many processes by others, whatever is asked for", "[worlds]") {
  constexpr std::uint32_t kMax = Worlds::kMaxSpawnedOnHost;
  Bench b;
  CHECK(b.ask({Bench::program(3 * kMax + 1)})->failure ==
        "a host may be given 65536 processes by others: 196609 are too many for 3 hosts");
  CHECK(b.ask({Bench::program(kMax - 1, {"n1"}), Bench::program(1, {"n1"})})->failure.empty());
  CHECK(b.ask({Bench::program(1, {"n1"})})->failure ==
        "a host may be given 65536 processes by others, and n1 has been given 65536");
  CHECK(b.ask({Bench::program(kMax - 1, {"n2"}), Bench::program(2, {"n2"})})->failure ==
        "a host may be given 65536 processes by others, and n2 has been given 65535");
  CHECK(b.ask({Bench::program(2, {"n0", "n2"})})->failure.empty());
}

}  // namespace charmtree::worlds_test
