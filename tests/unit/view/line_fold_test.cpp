// SPDX-License-Identifier: Apache-2.0
#include "charmrun/view/line_fold.hpp"

#include <catch2/catch.hpp>

#include "tree/base/random.hpp"

namespace charmtree::line_fold_test {

using proto::Stream;

namespace {

constexpr Instant kNow{1s};
constexpr Duration kWindow = 500ms;

struct Bench {
  explicit Bench(std::uint32_t count) : processes(count) {}

  void says(std::uint32_t process, std::string_view lines, Instant now = kNow) {
    fold.add({process, Stream::out, lines, now}, now, processes, out);
  }
  void complains(std::uint32_t process, std::string_view lines, Instant now = kNow) {
    fold.add({process, Stream::err, lines, now}, now, processes, out);
  }
  std::string look() {
    std::string text;
    for (const FoldedLine& line : std::exchange(out, {}))
      text += line.processes.print() + (line.stream == Stream::err ? "! " : " ") + line.text;
    return text;
  }

  std::uint32_t processes;
  LineFold fold{kWindow};
  std::vector<FoldedLine> out;
};

}  // namespace

TEST_CASE("a line that all have said is one, at once", "[line_fold]") {
  Bench bench{3};
  bench.says(0, "step 1\nstep 2\n");
  bench.says(2, "step 1\n");
  CHECK(bench.look().empty());
  bench.says(1, "step 1\nstep 2\n");
  CHECK(bench.look() == "0-2 step 1\n");
  bench.says(2, "step 2\n");
  CHECK(bench.look() == "0-2 step 2\n");
  CHECK(bench.fold.next_deadline() == kNever);
}

TEST_CASE("a line waits for the window and no longer", "[line_fold]") {
  Bench bench{3};
  bench.says(0, "a\n");
  bench.says(1, "a\n", kNow + 400ms);
  bench.says(1, "b\n", kNow + 400ms);
  CHECK(bench.fold.next_deadline() == kNow + kWindow);
  bench.fold.tick(kNow + kWindow - 1ns, bench.out);
  CHECK(bench.look().empty());
  bench.fold.tick(kNow + kWindow, bench.out);
  CHECK(bench.look() == "0-1 a\n");
  CHECK(bench.fold.next_deadline() == kNow + 900ms);
  bench.fold.finish(bench.out);
  CHECK(bench.look() == "1 b\n");
}

TEST_CASE("lines of one process stay in order, equal ones too", "[line_fold]") {
  Bench bench{2};
  bench.says(0, "x\nx\ny\n");
  bench.says(1, "y\nx\n");
  bench.fold.finish(bench.out);
  CHECK(bench.look() == "0 x\n0 x\n0-1 y\n1 x\n");
}

TEST_CASE("what must not wait takes along what its process said before", "[line_fold]") {
  Bench bench{3};
  bench.says(0, "a\n");
  bench.says(1, "b\n");
  bench.says(2, "c\n");
  bench.fold.flush(1, bench.out);
  CHECK(bench.look() == "1 b\n");
  bench.fold.flush(1, bench.out);
  CHECK(bench.look().empty());
  bench.says(2, "a\nd\n");
  bench.fold.flush(0, bench.out);  // c was before it in another process
  CHECK(bench.look() == "2 c\n0,2 a\n");
}

TEST_CASE("equal lines join whatever stood between them in other processes", "[line_fold]") {
  Bench bench{8};
  for (const std::uint32_t process : {3U, 0U, 7U, 5U, 1U, 2U, 6U}) {
    bench.says(process, "host " + std::to_string(process) + "\nb\n");
    CHECK(bench.look().empty());
  }
  bench.says(4, "host 4\n");
  SECTION("all have said it") {
    bench.says(4, "b\n");
    CHECK(bench.look() ==
          "0 host 0\n1 host 1\n2 host 2\n3 host 3\n4 host 4\n5 host 5\n6 host 6\n7 host 7\n0-7 b\n");
  }
  SECTION("some have, when it is due") {
    bench.fold.tick(kNow + kWindow, bench.out);
    CHECK(bench.look() ==
          "0 host 0\n1 host 1\n2 host 2\n3 host 3\n4 host 4\n5 host 5\n6 host 6\n7 host 7\n0-3,5-7 b\n");
  }
}

TEST_CASE("lines that are nearly due leave with one that is, sorted", "[line_fold]") {
  Bench bench{9};
  bench.says(5, "e\n");
  bench.says(2, "b\n", kNow + 50ms);
  bench.says(0, "a\n", kNow + 400ms);
  bench.fold.tick(kNow + kWindow, bench.out);
  CHECK(bench.look() == "2 b\n5 e\n");
  CHECK(bench.fold.next_deadline() == kNow + 900ms);
}

TEST_CASE("a block on stderr folds, and stays together", "[line_fold]") {
  Bench bench{6};
  const std::string one = "Traceback\n  in f\nValueError: 1\n", other = "Traceback\n  in g\nKeyError: 2\n";
  for (const std::uint32_t process : {4U, 1U, 0U}) bench.complains(process, one);
  for (const std::uint32_t process : {5U, 3U}) bench.complains(process, other);
  bench.says(2, "Traceback\n");  // on stdout that is another line
  bench.fold.finish(bench.out);
  CHECK(bench.look() ==
        "0-1,3-5! Traceback\n0-1,4!   in f\n0-1,4! ValueError: 1\n2 Traceback\n3,5!   in g\n3,5! KeyError: "
        "2\n");
}

TEST_CASE("the lines of a process stay in order on both streams", "[line_fold]") {
  Bench bench{2};
  bench.says(0, "a\n");
  bench.complains(0, "b\n");
  bench.complains(1, "b\n");
  bench.says(1, "a\n");
  bench.fold.finish(bench.out);
  CHECK(bench.look() == "0 a\n0-1! b\n1 a\n");
}

TEST_CASE("whatever the lines are, each process has said its own in this order", "[line_fold]") {
  constexpr std::uint32_t kProcesses = 12;
  Random random{3};
  for (int round = 0; round < 20; ++round) {
    Bench bench{kProcesses};
    std::vector<std::string> said(kProcesses), seen(kProcesses);
    Instant now = kNow;
    const auto look = [&] {
      for (const FoldedLine& line : std::exchange(bench.out, {})) {
        for (const auto& [first, last] : line.processes.ranges()) {
          for (std::uint32_t process = first; process <= last; ++process) seen[process] += line.text;
        }
      }
    };
    for (int i = 0; i < 2000; ++i) {
      const auto process = static_cast<std::uint32_t>(random.below(kProcesses));
      const std::string line = std::string(1, static_cast<char>('a' + random.below(6))) + "\n";
      said[process] += line;
      now += random.below(30) * 1ms;
      bench.fold.tick(now, bench.out);
      random.below(4) == 0 ? bench.complains(process, line, now) : bench.says(process, line, now);
      if (random.below(50) == 0) bench.fold.flush(process, bench.out);
      CHECK(bench.fold.next_deadline() > now);
      look();
    }
    bench.fold.finish(bench.out);
    look();
    CHECK(seen == said);
    CHECK(bench.fold.next_deadline() == kNever);
  }
}

TEST_CASE("not more than so much waits for equals", "[line_fold]") {
  Bench bench{2};
  for (std::size_t i = 0; i <= LineFold::kMostLines; ++i) bench.says(0, std::to_string(i) + "\n");
  CHECK(bench.look() == "0 0\n");
  bench.fold.finish(bench.out);
  CHECK(bench.out.size() == LineFold::kMostLines);
  bench.out.clear();
  bench.says(0, std::string(LineFold::kMostBytes, 'x') + "\n");
  CHECK(bench.look().size() == LineFold::kMostBytes + 3);
}

TEST_CASE("whatever the order of arrival, every line is accounted for, in its process's order",
          "[line_fold]") {
  constexpr std::uint32_t kProcesses = 16, kLines = 200;
  Random random{7};
  Bench bench{kProcesses};
  std::vector<std::uint32_t> said(kProcesses);
  Instant now = kNow;
  std::vector<std::uint32_t> seen(kProcesses);
  std::size_t lines = 0;
  const auto look = [&] {
    for (const FoldedLine& line : std::exchange(bench.out, {})) {
      ++lines;
      for (const auto& [first, last] : line.processes.ranges()) {
        for (std::uint32_t process = first; process <= last; ++process)
          CHECK(line.text == "step " + std::to_string(seen[process]++) + "\n");
      }
    }
  };
  for (std::uint32_t i = 0; i < kProcesses * kLines; ++i) {
    std::uint32_t process = static_cast<std::uint32_t>(random.below(kProcesses));
    while (said[process] == kLines) process = (process + 1) % kProcesses;
    now += 1ms;
    bench.fold.tick(now, bench.out);
    bench.says(process, "step " + std::to_string(said[process]++) + "\n", now);
    look();
  }
  bench.fold.finish(bench.out);
  look();
  for (const std::uint32_t count : seen) CHECK(count == kLines);
  CHECK(lines < kProcesses * kLines);
}

}  // namespace charmtree::line_fold_test
