// SPDX-License-Identifier: Apache-2.0
#include "charmrun/line_fold.hpp"

#include <catch2/catch.hpp>

#include "tree/base/random.hpp"

using namespace charmtree;

namespace {

constexpr Instant kNow{1s};
constexpr Duration kWindow = 500ms;

struct Bench {
  explicit Bench(std::uint32_t count) : processes(count) {}

  void says(std::uint32_t process, std::string_view lines, Instant now = kNow) {
    fold.add(process, lines, now, now, processes, out);
  }
  std::string look() {
    std::string text;
    for (const FoldedLine& line : std::exchange(out, {})) text += line.processes.print() + " " + line.text;
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
  CHECK(bench.look() == "0 a\n1 b\n");
  bench.fold.flush(0, bench.out);
  CHECK(bench.look().empty());
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
