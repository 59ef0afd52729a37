// SPDX-License-Identifier: Apache-2.0
#include "tree/node/root_controller.hpp"
#include "tests/unit/plans.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <stdexcept>

namespace charmtree::root_controller_test {

using namespace charmtree::proto;

namespace {

constexpr Instant kNow{50s};

/// A controller of two hosts with one process each, and what it records in one turn.
struct Fixture {
  static RootPlan plan() {
    RootPlan plan = test::plan_of(2);
    plan.job.timeout = 10s;
    return plan;
  }

  std::vector<Record> turn(Instant now) {
    Actions out;
    RootOrders orders;
    controller.turn(now, out, orders);
    std::vector<Record> records;
    for (const Action& action : out) {
      if (const auto* record = get_if<Record>(&action)) records.push_back(*record);
    }
    return records;
  }

  void lose(std::uint32_t host) {
    Actions out;
    RootOrders orders;
    controller.message(wire::LinkLost{host, kLost}, Instant{}, out, orders);
  }

  wire::Facts up(std::vector<std::uint32_t> hosts, std::uint32_t registered) {
    wire::Facts facts;
    facts.hosts_up = std::move(hosts);
    facts.registered = registered;
    return facts;
  }

  const Error kLost{Errc::link_lost, Phase::run, "gone", {}};
  RootController controller{plan()};
};

}  // namespace

TEST_CASE("a host that failed to start is recorded once, with its error and the time", "[root_controller]") {
  Fixture fixture;
  const Error refused{Errc::refused, Phase::connect, "connection refused", {}};
  wire::Facts facts;
  facts.hosts_failed = {{1, refused}};

  fixture.controller.facts(std::move(facts), kNow);
  const auto records = fixture.turn(kNow);

  REQUIRE(records.size() == 1);
  CHECK(records[0].stamps.host == 1);
  CHECK(records[0].error == refused);
  CHECK(records[0].failed == kNow);
  CHECK(fixture.turn(kNow + 1s).empty());
}

TEST_CASE("a host that is given up because it says nothing is recorded once", "[root_controller]") {
  Fixture fixture;
  fixture.controller.begin(kNow);
  fixture.controller.facts(fixture.up({0}, 0), kNow);
  CHECK(fixture.turn(kNow + 1s).empty());

  const Instant named = fixture.controller.next_deadline();
  CHECK(fixture.turn(named).empty());
  const Instant late = fixture.controller.next_deadline();
  const auto records = fixture.turn(late);

  REQUIRE(records.size() == 1);
  CHECK(records[0].stamps.host == 1);
  CHECK(records[0].error->code == Errc::timed_out);
  CHECK(records[0].failed == late);
  CHECK(fixture.turn(late + 60s).empty());
}

TEST_CASE("a launcher that is lost during the start-up has failed", "[root_controller]") {
  Fixture fixture;
  const bool charm = GENERATE(false, true);  // all are up, and one waits for the other in the table

  fixture.controller.facts(charm ? fixture.up({0, 1}, 1) : fixture.up({0}, 0), kNow);
  fixture.lose(0);
  const auto records = fixture.turn(kNow);

  REQUIRE(records.size() == 1);
  CHECK(records[0].stamps.host == 0);
  CHECK(records[0].error == fixture.kLost);
}

TEST_CASE("a launcher that is lost after the start-up or during the end has not failed",
          "[root_controller]") {
  Fixture fixture;

  SECTION("plain programs run") {
    fixture.controller.facts(fixture.up({0, 1}, 0), kNow);
  }
  SECTION("the table is out") {
    wire::Facts facts = fixture.up({0, 1}, 2);
    for (std::uint32_t i = 0; i < 2; ++i) {
      facts.blocks.emplace_back();
      facts.blocks[i].host = facts.blocks[i].first_process = i;
      facts.blocks[i].tuples.emplace_back();
    }
    fixture.controller.facts(std::move(facts), kNow);
    CHECK(fixture.turn(kNow).empty());
  }
  SECTION("the user ended the job") {
    Actions out;
    RootOrders orders;
    fixture.controller.signal(2, kNow, out, orders);
  }
  fixture.lose(0);

  CHECK(fixture.turn(kNow + 1s).empty());
}

TEST_CASE("a line gets its receipt when it has been written, not when it has come", "[root_controller]") {
  Fixture fixture;
  Actions out;
  fixture.controller.output(wire::Output{1, 2, true, "text\n"}, out);
  REQUIRE(out.size() == 1);
  const Show& show = get<Show>(out[0]);
  CHECK(show.output.text == "text\n");
  CHECK(show.output.wants_receipt);
  CHECK(show.host == "h1");
}

namespace {

/// A controller whose processes scan, one after the other, and what they are answered.
struct Scans {
  void asks(std::uint32_t process, const char* format) {
    Actions out;
    RootOrders orders;
    fixture.controller.message(wire::ScanUp{process, format}, Instant{}, out, orders);
  }
  void recalled(const std::string& bytes) {
    Actions out;
    RootOrders orders;
    fixture.controller.message(input::InputReturned{bytes}, Instant{}, out, orders);
  }
  void reads(const std::string& bytes, bool end = false) {
    RootOrders orders;
    Actions out;
    fixture.controller.on(input::InputRead{bytes, end}, false, kNow, out, orders);
    CHECK(orders.process.empty());
  }
  /// "PROCESS:TEXT" of each answer.
  std::vector<std::string> answers() {
    Actions out;
    RootOrders orders;
    fixture.controller.turn(kNow, out, orders);
    reads_more = std::any_of(out.begin(), out.end(), [](const Action& action) {
      return holds_alternative<input::ReadInput>(action);
    });
    std::vector<std::string> texts;
    for (const auto& [process, message] : orders.process) {
      texts.push_back(std::to_string(process) + ":" + get<wire::ScanReply>(message).input);
    }
    return texts;
  }
  using Texts = std::vector<std::string>;
  Fixture fixture;
  bool reads_more = false;
};

}  // namespace

TEST_CASE("scans are answered in the order in which they came", "[root_controller]") {
  Scans scans;
  scans.fixture.controller.facts(scans.fixture.up({0, 1}, 0), kNow);
  scans.asks(1, "%d");
  scans.asks(0, "%d");
  CHECK(scans.answers().empty());
  scans.recalled("1\n");
  CHECK(scans.answers() == Scans::Texts{"1:1"});
  CHECK(scans.reads_more);
  scans.reads("2\n3\n");
  CHECK(scans.answers() == Scans::Texts{"0:\n2"});
  CHECK_FALSE(scans.reads_more);
  scans.asks(0, "%d");
  scans.asks(1, "%d %d");
  scans.asks(0, "%s");
  CHECK(scans.answers() == Scans::Texts{"0:\n3"});
  scans.reads("", true);
  CHECK(scans.answers() == Scans::Texts{"1:\n", "0:"});
}

TEST_CASE("a scan that nothing satisfies is answered after so much input", "[root_controller]") {
  Scans scans;
  scans.fixture.controller.facts(scans.fixture.up({0, 1}, 0), kNow);
  scans.asks(1, "%s");
  scans.recalled("");
  const std::string most(input::InputRoot::kMostScanned, 'x');
  scans.reads(most.substr(1));
  CHECK(scans.answers().empty());
  scans.reads("x");
  CHECK(scans.answers() == Scans::Texts{"1:" + most});
}

TEST_CASE("more input than pipes can hold does not come back", "[root_controller]") {
  Scans scans;
  scans.fixture.controller.facts(scans.fixture.up({0, 1}, 0), kNow);
  const auto is_taken = [&](std::size_t bytes) {
    Actions out;
    RootOrders orders;
    const input::InputReturned returned{std::string(bytes, 'x')};
    scans.fixture.controller.message(returned, kNow, out, orders);
    return orders.given_up.empty();
  };
  CHECK_FALSE(is_taken(input::InputRoot::kMostTakenBack + 1));
  std::size_t times = 0;
  while (is_taken(input::InputRoot::kMostTakenBack)) ++times;
  CHECK(times == 2 * input::InputRoot::kMostScanned / input::InputRoot::kMostTakenBack + 1);
}

TEST_CASE("keys are read as they are typed for a terminal, and lines for a scan", "[root_controller]") {
  auto plan = Fixture::plan();
  plan.job.terminal.emplace();
  RootController controller{plan};
  const auto read = [&] {
    Actions out;
    RootOrders orders;
    controller.turn(kNow, out, orders);
    for (const Action& action : out) {
      if (const auto* a = get_if<input::ReadInput>(&action)) return a->keys;
    }
    throw std::logic_error("nothing is read");
  };
  Fixture fixture;
  controller.facts(fixture.up({0, 1}, 0), kNow);
  CHECK(read());
  Actions out;
  RootOrders orders;
  controller.on(input::InputRead{"key", false}, false, kNow, out, orders);
  controller.message(wire::ScanUp{1, "%d"}, Instant{}, out, orders);
  controller.message(input::InputReturned{"key"}, Instant{}, out, orders);
  CHECK(std::count_if(out.begin(), out.end(), [](const Action& action) {
          return holds_alternative<input::ReleaseKeys>(action);
        }) == 1);
  CHECK_FALSE(read());
}

TEST_CASE("losses are told to the user, and to everybody at most every 20 ms", "[root_controller]") {
  auto plan = Fixture::plan();
  plan.job.loss.recovery = wire::Recovery::go_on;
  plan.job.processes = 4;
  plan.hosts[0].processes = 3;
  plan.hosts[1].first_process = 3;
  RootController controller{plan};
  Fixture fixture;
  controller.facts(fixture.up({0, 1}, 0), kNow);
  const auto dies = [&](std::uint32_t process, Instant now) {
    wire::Facts facts;
    facts.exits = {{process, 3}};
    controller.facts(facts, now);
    Actions out;
    RootOrders orders;
    controller.turn(now, out, orders);
    const auto said = std::count_if(out.begin(), out.end(), [](const Action& action) {
      const auto* say = get_if<Say>(&action);
      return say != nullptr && say->tone == Tone::error && say->text.ends_with("going on without it");
    });
    return std::pair{said, orders.everyone.size()};
  };
  CHECK(dies(1, kNow) == std::pair{1L, std::size_t{1}});
  CHECK(dies(2, kNow + 1ms) == std::pair{1L, std::size_t{0}});
  CHECK(controller.next_deadline() == kNow + Losses::kPause);
  Actions out;
  RootOrders orders;
  controller.turn(kNow + Losses::kPause, out, orders);
  REQUIRE(orders.everyone.size() == 1);
  CHECK(get<wire::Lost>(orders.everyone[0]).processes == std::vector<wire::ProcessSet::Range>{{2, 2}});
}

TEST_CASE("the keys of a terminal that is lost are the user's again", "[root_controller]") {
  auto plan = Fixture::plan();
  plan.job.terminal.emplace();
  plan.job.loss.recovery = wire::Recovery::go_on;
  RootController controller{plan};
  Fixture fixture;
  controller.facts(fixture.up({0, 1}, 0), kNow);
  Actions out;
  RootOrders orders;
  controller.message(wire::LinkLost{0, fixture.kLost, {{0, 0}}}, kNow, out, orders);
  controller.turn(kNow, out, orders);
  CHECK_FALSE(controller.judge().verdict());
  CHECK(std::count_if(out.begin(), out.end(), [](const Action& action) {
          return holds_alternative<input::ReleaseKeys>(action);
        }) == 1);
}

TEST_CASE("the line that tools of Charm++ look for is said of Charm++ programs alone", "[root_controller]") {
  const bool native = GENERATE(false, true);
  CAPTURE(native);
  Fixture fixture;
  wire::Facts facts = fixture.up({0, 1}, 2);
  for (std::uint32_t i = 0; i < 2; ++i) {
    wire::Tuple tuple;
    native ? void(tuple.data = "mine") : void(tuple.port = 1234);
    facts.blocks.push_back({i, i, 0, {tuple}});
  }
  fixture.controller.begin(kNow);
  fixture.controller.facts(std::move(facts), kNow);
  Actions out;
  RootOrders orders;
  fixture.controller.turn(kNow + 250ms, out, orders);
  std::vector<std::string> shown;
  for (const Action& action : out) {
    const auto* say = get_if<Say>(&action);
    if (say != nullptr && say->tone != Tone::verbose) shown.push_back(say->text);
  }
  const std::vector<std::string> line{"Charmrun> started all node programs in 0.250 seconds."};
  CHECK(shown == (native ? std::vector<std::string>{} : line));
}

}  // namespace charmtree::root_controller_test
