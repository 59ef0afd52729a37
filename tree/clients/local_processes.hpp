// SPDX-License-Identifier: Apache-2.0
// The processes of one host and their ranks on it. Processes that join (from another host, or spawned) are
// kept as runs of consecutive numbers, so that a question about one of them costs the logarithm of the number
// of runs, however many processes there are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tree/wire/process_set.hpp"

namespace charmtree::proto {

/// Processes in the order in which they joined; the place of each is its number in that order.
class JoinedProcesses {
public:
  /// Processes first to first + size - 1, which have the places from `place` on.
  struct Run {
    std::uint32_t first, place, size;
  };

  /// Gives the process the next place. Precondition: !contains(process).
  void add(std::uint32_t process);
  bool empty() const { return runs_.empty(); }
  std::uint32_t size() const { return runs_.empty() ? 0 : runs_.back().place + runs_.back().size; }
  bool contains(std::uint32_t process) const { return find(process) != nullptr; }
  /// Precondition: contains(process).
  std::uint32_t place_of(std::uint32_t process) const;
  /// Returns the process with this place. Precondition: place < size().
  std::uint32_t at(std::uint32_t place) const;
  /// Returns the runs in the order in which they began.
  const std::vector<Run>& runs() const { return runs_; }
  /// Calls f(first, last) for each part of the range that is among them, rising.
  template <class F>
  void intersect(const wire::ProcessSet::Range& range, F&& f) const {
    for (auto each = first_behind(range.first); each != by_number_.end(); ++each) {
      const Run& run = runs_[*each];
      if (run.first > range.last) return;
      f(std::max(run.first, range.first), std::min(run.first + (run.size - 1), range.last));
    }
  }

private:
  using Indices = std::vector<std::uint32_t>;
  /// Returns the first run, by number, that does not end before this process.
  Indices::const_iterator first_behind(std::uint32_t process) const;
  /// Returns the run with this process; null: there is none.
  const Run* find(std::uint32_t process) const;

  std::vector<Run> runs_;  // by place
  Indices by_number_;      // of runs_
};

/// The processes of one host, as every client server needs them.
struct LocalProcesses {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::uint32_t total = 0;      // of the job
  JoinedProcesses joined = {};  // later (DESIGN D24)

  bool is_first(std::uint32_t process) const { return process >= first && process - first < count; }
  bool contains(std::uint32_t process) const { return is_first(process) || joined.contains(process); }
  std::uint32_t size() const { return count + joined.size(); }
  /// Returns the rank of a process of this host. Precondition: contains(process).
  std::uint32_t rank_of(std::uint32_t process) const;
  /// Returns the process with this rank.
  std::uint32_t at(std::uint32_t rank) const { return rank < count ? first + rank : joined.at(rank - count); }
  using Ranges = std::vector<wire::ProcessSet::Range>;
  /// Returns those of the host that are in the ranges, rising, as ranges between which there are gaps.
  Ranges ranges_among(const Ranges& ranges) const;
  /// The same, as numbers.
  std::vector<std::uint32_t> among(const Ranges& ranges) const;
  std::size_t count_among(const Ranges& ranges) const { return wire::size_of(ranges_among(ranges)); }
  /// Returns all of them in the order of their ranks.
  Ranges ranges() const;
};

}  // namespace charmtree::proto
