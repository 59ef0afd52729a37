// SPDX-License-Identifier: Apache-2.0
// Folds equal lines of different processes into one that says whose they are. A line waits for its equals
// until all processes have said it, but not for long; lines of one process stay in order. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tree/base/time.hpp"
#include "tree/wire/process_set.hpp"

namespace charmtree {

struct FoldedLine {
  wire::ProcessSet processes;
  std::string text;  // with its newline
  Instant read;      // the first of them
};

class LineFold {
public:
  /// So much waits at most.
  static constexpr std::size_t kMostLines = 1024, kMostBytes = 1U << 20;

  /// A line waits for `window` at most.
  explicit LineFold(Duration window) : window_(window) {}

  /// Whole lines of one of `processes` processes, read at `read`. Appends to `out` what waits no longer.
  void add(std::uint32_t process, std::string_view lines, Instant read, Instant now, std::uint32_t processes,
           std::vector<FoldedLine>& out);
  /// The process has something to show that must not wait: its lines go first, and with them all before them.
  void flush(std::uint32_t process, std::vector<FoldedLine>& out);
  void tick(Instant now, std::vector<FoldedLine>& out);
  Instant next_deadline() const { return waiting_.empty() ? kNever : waiting_.front().due; }
  void finish(std::vector<FoldedLine>& out);

private:
  struct Waiting {
    FoldedLine line;
    std::size_t hash;
    Instant due;
  };

  void add_line(std::uint32_t process, std::string_view line, Instant read, Instant now);
  void hand_out(std::vector<FoldedLine>& out);

  Duration window_;
  std::deque<Waiting> waiting_;
  std::uint64_t handed_out_ = 0;  // so many lines were before the first that waits
  std::size_t bytes_ = 0;
  std::unordered_map<std::uint32_t, std::uint64_t> next_;  // process -> the line behind its last one
};

}  // namespace charmtree
