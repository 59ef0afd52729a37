// SPDX-License-Identifier: Apache-2.0
// Folds equal lines of different processes into one that says whose they are, whatever these processes say
// beside it. A line waits for its equals until all processes have said it, but not for long; lines of one
// process stay in order, on both streams. Pure.
#pragma once

#include <bitset>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tree/base/time.hpp"
#include "tree/clients/client_server.hpp"
#include "tree/wire/process_set.hpp"

namespace charmtree {

struct FoldedLine {
  wire::ProcessSet processes;
  std::string text;  // with its newline
  Instant read;      // the first of them
  proto::Stream stream = proto::Stream::out;
};

/// Whole lines of a process.
struct LinesRead {
  std::uint32_t process = 0;
  proto::Stream stream = proto::Stream::out;
  std::string_view text;
  Instant read;
};

class LineFold {
public:
  /// So much waits at most. What is known of the order of lines takes kMostLines squared bits.
  static constexpr std::size_t kMostLines = 1024, kMostBytes = 1U << 20;
  /// Lines that leave together are sorted, so a line goes with another one that is due if it is nearly due
  /// itself: for this part of the window.
  static constexpr int kTogether = 4;

  /// A line waits for `window` at most.
  explicit LineFold(Duration window) : window_(window) {}

  /// Of one of `processes` processes. Appends to `out` what waits no longer: sorted by the lowest process, as
  /// far as the order within each process allows.
  void add(const LinesRead& lines, Instant now, std::uint32_t processes, std::vector<FoldedLine>& out);
  /// The process has something to show that must not wait: its lines go first, and with them all that are
  /// before them in other processes.
  void flush(std::uint32_t process, std::vector<FoldedLine>& out);
  void tick(Instant now, std::vector<FoldedLine>& out);
  Instant next_deadline() const { return order_.empty() ? kNever : slots_[order_.begin()->second].due; }
  void finish(std::vector<FoldedLine>& out);

private:
  using Slot = std::size_t;
  using Slots = std::bitset<kMostLines + 1>;
  struct Waiting {
    FoldedLine line;
    std::size_t hash = 0;
    Instant due = kNever;
    std::uint64_t number = 0;  // in the order of their arrival
    Slots before;              // these must be written before it
  };

  Slot add_line(const LinesRead& lines, std::string_view line, Instant now);
  std::optional<Slot> last_of(std::uint32_t process) const;
  std::optional<Slot> equal_one(std::size_t hash, const LinesRead& lines, std::string_view line,
                                std::optional<Slot> last) const;
  void put_before(Slot first, Slot second);
  bool is_complete(Slot slot) const { return slots_[slot].line.processes.size() >= processes_; }
  void hand_out(const Slots& chosen, std::vector<FoldedLine>& out);
  void hand_out_one(Slot slot, std::vector<FoldedLine>& out);

  Duration window_;
  std::uint32_t processes_ = 0;
  std::vector<Waiting> slots_;
  std::vector<Slot> free_;
  std::map<std::uint64_t, Slot> order_;                         // of those that wait, by their numbers
  std::unordered_map<std::size_t, std::vector<Slot>> by_hash_;  // in that order, too
  std::unordered_map<std::uint32_t, std::pair<Slot, std::uint64_t>>
      last_;  // of each process; it may have left
  std::uint64_t numbers_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace charmtree
