// SPDX-License-Identifier: Apache-2.0
#include "tree/job/output_part.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/unit/part_bench.hpp"

namespace charmtree::output_part_test {

using namespace charmtree::proto;

namespace {

using Role = test::PartBench::Role;

/// A launcher of which there is nothing but its output, and one child.
struct Bench final : test::PartBench {
  explicit Bench(Role where, const wire::JobSpec& of = {})
      : PartBench(where, of),
        part(is_root() ? OutputPart::Place::root : OutputPart::Place::below, job),
        link(child()) {}

  static wire::Output lines(std::uint32_t process, std::string text) {
    return {process, 1, false, std::move(text), wire::Tail::waited, kNever};
  }
  void from_child(std::string text) { part.up(lower, link, lines(4, std::move(text)), *this); }

  std::vector<std::string> shown() const {
    std::vector<std::string> texts;
    for (const wire::Message& each : handed_up) texts.push_back(get<wire::Output>(each).text);
    return texts;
  }
  std::vector<bool> stalls() const {
    std::vector<bool> told;
    for (const News& each : news) {
      if (const auto* stall = get_if<OutputStalls>(&each)) told.push_back(stall->yes);
    }
    return told;
  }
  bool pipes_rest() const { return get<PipesRest>(news.back()).yes; }

  Child lower;
  OutputPart part;
  LinkId link;
};

wire::JobSpec repairing() {
  wire::JobSpec job;
  job.heartbeat = {1s, 5s, 5s};
  job.loss.recovery = wire::Recovery::go_on;
  return job;
}

}  // namespace

TEST_CASE("output that has no way up waits, if another parent may come, else it is lost", "[output_part]") {
  Bench b{Role::below};
  b.way = WayUp::awaited;
  b.part.add(Bench::lines(0, "kept\n"), b);
  CHECK(b.handed_up.empty());
  CHECK_FALSE(b.part.empty());
  b.way = WayUp::open;
  b.part.adopted();
  b.part.down(wire::Resend{}, b);
  CHECK(b.shown() == std::vector<std::string>{"kept\n"});

  b.way = WayUp::gone;
  b.part.add(Bench::lines(0, "lost\n"), b);
  CHECK(b.part.empty());
  CHECK(b.part.added() == 1);
}

TEST_CASE("a child gets its credit back when what it sent has been passed on", "[output_part]") {
  Bench b{Role::below};
  b.part.down(wire::OutputCredit{UINT32_MAX}, b);
  for (int i = 0; i < 64; ++i) b.from_child(std::string(1000, 'x') + "\n");
  CHECK(b.handed_up.size() == 64);
  CHECK(b.given_up.empty());
  REQUIRE_FALSE(b.handed_down.empty());
  CHECK(holds_alternative<wire::OutputCredit>(b.handed_down.front().second));
}

TEST_CASE("a child that sends without credit is given up", "[output_part]") {
  Bench b{Role::below};
  b.way = WayUp::awaited;
  for (int i = 0; i < 64; ++i) b.from_child(std::string(1000, 'x') + "\n");
  REQUIRE_FALSE(b.given_up.empty());
  CHECK(b.given_up.front() == std::pair{b.link, std::string{"its launcher sent more output than it may"}});
}

TEST_CASE("the root says once when nobody takes its output, and once when somebody does again",
          "[output_part]") {
  Bench b{Role::root};
  for (int i = 0; i < 3; ++i) {
    b.from_child("x\n");
    b.part.turn(b);
  }
  CHECK(b.stalls().empty());
  b.part.add(Bench::lines(4, std::string(OutputPart::kScreen, 'x')), b);
  b.part.add(Bench::lines(4, "waits\n"), b);
  for (int i = 0; i < 3; ++i) b.part.turn(b);
  CHECK(b.stalls() == std::vector<bool>{true});
  b.part.on(OutputWritten{2 * OutputPart::kScreen}, b);
  for (int i = 0; i < 3; ++i) b.part.turn(b);
  CHECK(b.stalls() == std::vector<bool>{true, false});
  CHECK(b.shown().back() == "waits\n");
}

TEST_CASE("pipes rest while too much waits for the parent", "[output_part]") {
  Bench b{Role::below};
  b.way = WayUp::awaited;
  b.part.turn(b);
  CHECK_FALSE(b.pipes_rest());
  for (std::size_t added = 0; added <= OutputQueue::kShare; added += OutputQueue::kPiece)
    b.part.add(Bench::lines(0, std::string(OutputQueue::kPiece - 1, 'x') + "\n"), b);
  b.part.turn(b);
  CHECK(b.pipes_rest());
}

TEST_CASE("the root of a job that repairs itself shows nothing twice, and tells what it has",
          "[output_part]") {
  Bench b{Role::root, repairing()};
  wire::Output output = Bench::lines(4, "once\n");
  output.number = 1;
  output.is_oldest = true;
  b.part.up(b.lower, b.link, output, b);
  b.part.up(b.lower, b.link, output, b);
  CHECK(b.shown() == std::vector<std::string>{"once\n"});
  REQUIRE(b.part.next_deadline() != kNever);
  b.at(b.part.next_deadline());
  b.part.turn(b);
  REQUIRE_FALSE(b.handed_down.empty());
  const auto& taken = get<wire::OutputTaken>(b.handed_down.back().second);
  REQUIRE(taken.processes.size() == 1);
  CHECK(taken.processes[0].process == 4);
  CHECK(taken.processes[0].number == 1);
}

TEST_CASE("what is shown to the end is told to the process that waits for it", "[output_part]") {
  Bench b{Role::root};
  b.part.on(Shown{5}, b);
  REQUIRE(b.handed_to_process.size() == 1);
  CHECK(b.handed_to_process[0].first == 5);
  CHECK(get<wire::Receipt>(b.handed_to_process[0].second).process == 5);
}

TEST_CASE("between two runs nothing is sent, and the next one begins with nothing of the last",
          "[output_part]") {
  Bench b{Role::below};
  for (int i = 0; i < 3; ++i) b.part.add(Bench::lines(0, std::string(OutputGrants::kFirst, 'x')), b);
  b.from_child("of a child");
  REQUIRE(b.shown().size() == 1);  // for which there was credit
  b.part.end_run(true, b);
  CHECK(b.part.empty());
  const auto said = b.take<Say>();
  REQUIRE(said.size() == 1);
  CHECK(said.front().text == "the rest of its output was not read in time, and is lost");
  b.part.end_run(true, b);
  CHECK(b.actions.empty());
  b.part.down(wire::OutputCredit{OutputPart::kScreen}, b);
  b.part.add(Bench::lines(0, "of one that outlives its run"), b);
  b.from_child("late");
  CHECK(b.shown().size() == 1);
  CHECK(b.part.empty());
  b.part.begin_run(b.job);
  b.part.add(Bench::lines(0, "new"), b);
  CHECK(b.shown().back() == "new");
}

TEST_CASE("what is on the screen when another run begins is shown first, and is no longer a child's",
          "[output_part]") {
  Bench b{Role::root};
  b.part.add(Bench::lines(4, std::string(OutputPart::kScreen, 'x')), b);
  const std::size_t first = b.shown().size();
  b.from_child("old");
  CHECK(b.shown().size() == first);
  b.part.end_run(true, b);
  b.part.begin_run(b.job);
  b.from_child("new");
  b.part.on(OutputWritten{2 * OutputPart::kScreen}, b);
  REQUIRE(b.shown().size() >= first + 2);
  CHECK(*(b.shown().end() - 2) == "old");
  CHECK(b.shown().back() == "new");
  CHECK(b.actions.empty());
}

}  // namespace charmtree::output_part_test
