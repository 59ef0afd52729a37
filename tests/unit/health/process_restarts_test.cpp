// SPDX-License-Identifier: Apache-2.0
#include "health/process_restarts.hpp"

#include <catch2/catch.hpp>

namespace charmtree::process_restarts_test {

using namespace charmtree::proto;

namespace {

constexpr Instant kStart{1s};
constexpr std::uint32_t kAny = UINT32_MAX;

/// Two hosts with two processes each.
class Fixture {
public:
  explicit Fixture(std::uint32_t most = kAny, bool has_table = true) : restarts(most, 60s) {
    if (has_table) restarts.begin({0, 1, {{0, 0, 1, {{0, "a"}, {0, "b"}}}, {1, 2, 2, {{0, "c"}, {0, "d"}}}}});
  }
  ProcessRestarts restarts;
  Instant now = kStart;
  std::uint32_t barriers = 0;

  std::string lose(std::uint32_t process, bool has_registered = false) {
    return restarts.lost(process, has_registered, now);
  }
  void rejoin(std::uint32_t process, const std::string& tuple) {
    restarts.rejoined({process, 0, process / 2 + 1, tuple}, process / 2, now);
  }
  /// What is to be sent, in words.
  std::string orders() {
    const ProcessRestarts::Orders due = restarts.take_orders(barriers, now);
    std::string text;
    if (due.renewed) {
      text += "epoch " + std::to_string(due.renewed->epoch) + ":";
      for (const wire::TupleBlock& block : due.renewed->blocks)
        text += " " + std::to_string(block.first_process) + "=" + block.tuples.at(0).data;
      text += "; ";
    }
    for (const wire::Readmit& message : due.readmissions) {
      const auto table = wire::decode_table(*message.table).value();
      text +=
          "readmit " + std::to_string(message.process) + " after " + std::to_string(message.barriers) + " ";
      for (const wire::TupleBlock& block : table.blocks) {
        for (const wire::Tuple& tuple : block.tuples) text += tuple.data;
      }
      text += "; ";
    }
    for (const wire::Restart& message : due.restarts)
      text += "restart " + std::to_string(message.process) + " (" + std::to_string(message.restarts) + "); ";
    return text;
  }
};

}  // namespace

TEST_CASE("a lost process is started again, and when it has registered all get what is new", "[restarts]") {
  Fixture f;
  CHECK_FALSE(f.restarts.in_progress());
  CHECK(f.lose(2).empty());
  CHECK(f.restarts.in_progress());
  CHECK(f.orders() == "restart 2 (1); ");
  CHECK(f.orders().empty());
  CHECK(f.restarts.in_progress());
  f.barriers = 7;
  f.rejoin(2, "C");
  CHECK(f.orders() == "epoch 1: 2=C; readmit 2 after 7 abCd; ");
  CHECK_FALSE(f.restarts.in_progress());
}

TEST_CASE("losses do not wait for each other", "[restarts]") {
  Fixture f;
  CHECK(f.lose(3).empty());
  CHECK(f.lose(0).empty());
  CHECK(f.orders() == "restart 0 (1); restart 3 (1); ");
  f.rejoin(3, "D");
  CHECK(f.lose(1).empty());
  CHECK(f.orders() == "epoch 1: 3=D; readmit 3 after 0 abcD; restart 1 (1); ");
  f.rejoin(1, "B");
  f.rejoin(0, "A");
  CHECK(f.orders() == "epoch 2: 0=A 1=B; readmit 1 after 0 ABcD; readmit 0 after 0 ABcD; ");
  f.rejoin(0, "again");  // out of turn
  CHECK(f.orders().empty());
}

TEST_CASE("a process that is lost again before it has registered is started once more, later", "[restarts]") {
  Fixture f;
  CHECK(f.lose(2).empty());
  CHECK(f.orders() == "restart 2 (1); ");
  CHECK(f.lose(2).empty());
  CHECK(f.orders().empty());
  CHECK(f.restarts.next_deadline() == f.now + ProcessRestarts::kFirstPause);
  f.now += ProcessRestarts::kFirstPause;
  CHECK(f.orders() == "restart 2 (2); ");
  CHECK(f.lose(2).empty());
  CHECK(f.restarts.next_deadline() == f.now + 2 * ProcessRestarts::kFirstPause);
}

TEST_CASE("a process that fails again and again is given up, unless it has run for long", "[restarts]") {
  const bool has_table = GENERATE(true, false);
  Fixture f{kAny, has_table};
  const auto restart = [&] {
    CHECK(f.lose(1).empty());
    f.now += 10s;
    const bool ordered = f.orders().find("restart 1") != std::string::npos;
    CHECK(ordered);
    if (has_table) f.rejoin(1, "B");
    f.orders();
  };
  for (std::uint32_t i = 0; i < RestartBudget::kMostInARow; ++i) restart();
  f.now += RestartBudget::kSettled;
  for (std::uint32_t i = 0; i < RestartBudget::kMostInARow; ++i) restart();
  CHECK(f.lose(0).empty());  // another one
  CHECK(f.lose(1) == "it was restarted 5 times and never ran for 10 s");
}

TEST_CASE("restarts are limited in all", "[restarts]") {
  Fixture f{2};
  CHECK(f.lose(0).empty());
  CHECK(f.lose(1).empty());
  CHECK(f.lose(2) == "there have been 2 restarts (++max-restarts)");
  Fixture none{0};
  CHECK(none.lose(0) == "there have been 0 restarts (++max-restarts)");
}

TEST_CASE("who has a place in the table has to register in time, while the user reads", "[restarts]") {
  Fixture f;
  f.lose(2);
  f.orders();
  CHECK(f.restarts.next_deadline() == f.now + 60s);
  CHECK_FALSE(f.restarts.late(f.now + 59s));
  CHECK(f.restarts.late(f.now + 60s) == 2);
  f.restarts.stalled(true, f.now);
  CHECK_FALSE(f.restarts.late(f.now + 100s));
  f.restarts.stalled(false, f.now + 100s);
  CHECK(f.restarts.next_deadline() == f.now + 160s);

  Fixture plain{kAny, false};
  plain.lose(2);
  plain.orders();
  CHECK(plain.restarts.next_deadline() == kNever);
  CHECK_FALSE(plain.restarts.in_progress());
}

TEST_CASE("who has registered and is lost before there is a table comes behind it, in its last life",
          "[restarts]") {
  Fixture f{kAny, false};
  CHECK(f.lose(2, true).empty());
  CHECK(f.restarts.is_absent(2));
  CHECK(f.orders() == "restart 2 (1); ");
  CHECK_FALSE(f.restarts.is_absent(2));
  CHECK(f.restarts.in_progress());
  f.rejoin(2, "e");
  CHECK(f.orders().empty());
  CHECK(f.lose(2, true).empty());
  f.now += ProcessRestarts::kFirstPause;
  CHECK(f.orders() == "restart 2 (2); ");
  f.restarts.begin({0, 1, {{0, 0, 1, {{0, "a"}, {0, "b"}}}, {1, 2, 2, {{0, "c"}, {0, "d"}}}}});
  CHECK(f.orders().empty());
  f.rejoin(2, "f");
  CHECK(f.orders() == "epoch 1: 2=f; readmit 2 after 0 abfd; ");
  CHECK_FALSE(f.restarts.in_progress());
}

}  // namespace charmtree::process_restarts_test
