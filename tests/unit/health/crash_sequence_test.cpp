// SPDX-License-Identifier: Apache-2.0
#include "health/crash_sequence.hpp"

#include <catch2/catch.hpp>

namespace charmtree::crash_sequence_test {

using namespace charmtree::proto;

namespace {

constexpr Instant kStart{1s};

/// Two hosts with two processes each; data ports 100 ... 103.
class Fixture {
public:
  CrashSequence sequence{
      wire::NodeTable{0, 1, {{0, 0, 1, {{100, {}}, {101, {}}}}, {1, 2, 2, {{102, {}}, {103, {}}}}}}, 60s};
  Instant now = kStart;

  std::string lose(std::uint32_t process) { return sequence.lost(process, now); }
  void rejoin(std::uint32_t process, std::uint16_t port) { sequence.rejoined({process, port}, now); }
  void ack(std::uint32_t epoch, std::uint32_t count) { sequence.acked(epoch, count, now); }

  /// What is to be sent, in words.
  std::string orders() {
    std::string text;
    for (const wire::Message& message : sequence.take_orders()) {
      if (!text.empty()) text += ", ";
      if (const auto* restart = get_if<wire::Restart>(&message)) {
        text += "restart " + std::to_string(restart->process) + " phase " + std::to_string(restart->phase);
      } else if (const auto* admit = get_if<wire::Admit>(&message)) {
        text += "admit " + std::to_string(admit->process);
      } else if (const auto* recover = get_if<wire::Recover>(&message)) {
        const auto table = wire::decode_table(*recover->table).value();
        text +=
            "epoch " + std::to_string(table.epoch) + " lost " + std::to_string(recover->crashed) + " ports";
        for (const wire::TupleBlock& block : table.blocks) {
          for (const wire::Tuple& tuple : block.tuples) text += " " + std::to_string(tuple.port);
        }
        text += " joining";
        for (const std::uint32_t process : recover->joining) text += " " + std::to_string(process);
      }
    }
    return text;
  }
};

}  // namespace

TEST_CASE("a lost process is started anew, announced, and admitted when all others know",
          "[crash_sequence]") {
  Fixture f;
  CHECK_FALSE(f.sequence.in_progress());
  CHECK(f.lose(2).empty());
  CHECK(f.orders() == "restart 2 phase 2");
  CHECK(f.sequence.in_progress());
  f.rejoin(2, 202);
  CHECK(f.orders() == "epoch 1 lost 2 ports 100 101 202 103 joining 2");
  f.ack(1, 2);
  CHECK(f.orders().empty());
  f.ack(1, 1);
  CHECK(f.orders() == "admit 2");
  CHECK_FALSE(f.sequence.in_progress());

  SECTION("the next loss has the next phase") {
    f.now += 20s;
    CHECK(f.lose(0).empty());
    CHECK(f.orders() == "restart 0 phase 3");
    f.rejoin(0, 200);
    CHECK(f.orders() == "epoch 2 lost 0 ports 200 101 202 103 joining 0");
  }
}

TEST_CASE("acks of an earlier sequence do not count", "[crash_sequence]") {
  Fixture f;
  f.lose(2);
  f.rejoin(2, 202);
  f.ack(1, 2);
  f.lose(3);  // before process 1's ack
  f.orders();
  f.rejoin(3, 203);
  CHECK(f.orders() == "epoch 2 lost 3 ports 100 101 202 203 joining 2 3");
  f.ack(1, 1);
  f.ack(1, 1);
  f.ack(2, 1);
  CHECK(f.orders().empty());
  f.ack(2, 1);
  CHECK(f.orders() == "admit 2, admit 3");
}

TEST_CASE("losses are handled one at a time, in order", "[crash_sequence]") {
  Fixture f;
  f.lose(2);
  f.lose(0);
  CHECK(f.orders() == "restart 2 phase 2");
  f.rejoin(0, 1);  // which nobody has ordered yet
  CHECK(f.orders().empty());
  f.rejoin(2, 202);
  CHECK(f.orders() == "epoch 1 lost 2 ports 100 101 202 103 joining 2, restart 0 phase 3");
  f.ack(1, 2);  // nobody waits for them any more
  CHECK(f.orders().empty());
  f.rejoin(0, 200);
  CHECK(f.orders() == "epoch 2 lost 0 ports 200 101 202 103 joining 0 2");
  f.ack(2, 2);
  CHECK(f.orders() == "admit 0, admit 2");
}

TEST_CASE("a process that is lost while it is restarted is restarted again", "[crash_sequence]") {
  Fixture f;
  f.lose(2);
  f.orders();

  SECTION("before it has registered") {
    f.lose(0);  // waits
    f.lose(2);
    CHECK(f.orders() == "restart 2 phase 3");
  }
  SECTION("while it waits for its table") {
    f.rejoin(2, 202);
    f.ack(1, 2);
    f.orders();
    f.lose(2);
    CHECK(f.orders() == "restart 2 phase 3");
    f.ack(1, 1);
    CHECK(f.orders().empty());
    f.rejoin(2, 302);
    CHECK(f.orders() == "epoch 2 lost 2 ports 100 101 302 103 joining 2");
    f.ack(2, 3);
    CHECK(f.orders() == "admit 2");
  }
}

TEST_CASE("there is an end to restarting", "[crash_sequence]") {
  Fixture f;
  const auto round = [&] {
    f.rejoin(1, 200);
    f.ack(UINT32_MAX, 3);
    f.orders();
  };
  for (std::uint32_t i = 0; i < RestartBudget::kMostInARow; ++i) {
    CHECK(f.lose(1).empty());
    round();
  }
  SECTION("for one that never ran for long") {
    CHECK(f.lose(1) == "it was restarted 5 times and never ran for 10 s");
  }
  SECTION("but not for one that did") {
    f.ack(RestartBudget::kMostInARow, 3);
    f.now += RestartBudget::kSettled;
    CHECK(f.lose(1).empty());
    round();
    CHECK(f.lose(1).empty());
  }
  SECTION("when nobody is left that has a table") {
    CHECK(f.lose(0).empty());
    CHECK(f.lose(2).empty());
    CHECK(f.lose(3) == "no process is left that could hold its checkpoint");
  }
}

TEST_CASE("the only process of a job has nobody to recover from", "[crash_sequence]") {
  CrashSequence sequence{wire::NodeTable{0, 1, {{0, 0, 1, {{100, {}}}}}}, 60s};
  CHECK_FALSE(sequence.lost(0, kStart).empty());
}

TEST_CASE("a new process has so long to register", "[crash_sequence]") {
  Fixture f;
  CHECK(f.sequence.next_deadline() == kNever);
  f.lose(3);
  CHECK(f.sequence.next_deadline() == kStart + 60s);
  CHECK_FALSE(f.sequence.late(kStart + 59s));
  CHECK(f.sequence.late(kStart + 60s) == 3);
  f.sequence.stalled(true, kStart + 50s);
  CHECK_FALSE(f.sequence.late(kStart + 60s));
  f.sequence.stalled(false, kStart + 70s);
  CHECK(f.sequence.next_deadline() == kStart + 130s);
  f.rejoin(3, 203);
  CHECK(f.sequence.next_deadline() == kNever);
}

}  // namespace charmtree::crash_sequence_test
