// SPDX-License-Identifier: Apache-2.0
// The deadlines of many processes, in order. After an event only the processes that it touched are asked for
// theirs, so that an event costs the same on a host of ten processes and on one of ten thousand.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tree/base/time.hpp"

namespace charmtree::proto {

class ProcessDeadlines {
public:
  /// Marks the process of this rank: its deadline may have changed.
  void touch(std::uint32_t rank) {
    if (all_) all_ = std::max(*all_, rank + 1);
    if (all_) return;
    if (rank >= known_.size()) known_.resize(rank + 1);
    if (!std::exchange(known_[rank].is_touched, true)) touched_.push_back(rank);
  }
  /// Marks all, which are those of the ranks below `ranks`.
  void touch_all(std::uint32_t ranks) { all_ = ranks; }
  /// Returns the earliest deadline; kNever: there is none. Calls `deadline_of(rank)` for the marked ranks
  /// alone.
  template <class DeadlineOf>
  Instant earliest(DeadlineOf&& deadline_of) {
    if (all_) {
      const std::uint32_t ranks = *all_;
      *this = {};
      for (std::uint32_t rank = 0; rank < ranks; ++rank) touch(rank);
    }
    for (const std::uint32_t rank : touched_) {
      Known& known = known_[rank];
      known.is_touched = false;
      const Instant now = deadline_of(rank);
      if (now == known.deadline) continue;
      if (known.deadline != kNever) queue_.erase({known.deadline, rank});
      if (now != kNever) queue_.insert({now, rank});
      known.deadline = now;
    }
    touched_.clear();
    return queue_.empty() ? kNever : queue_.begin()->first;
  }
  /// Returns the ranks whose deadline has come, as of the last earliest(), rising.
  std::vector<std::uint32_t> due(Instant now) const {
    std::set<std::uint32_t> ranks;
    for (auto each = queue_.begin(); each != queue_.end() && each->first <= now; ++each)
      ranks.insert(each->second);
    return {ranks.begin(), ranks.end()};
  }

private:
  struct Known {
    Instant deadline = kNever;
    bool is_touched = false;
  };
  std::vector<Known> known_;  // by rank
  std::vector<std::uint32_t> touched_;
  std::optional<std::uint32_t> all_;                   // so many ranks are marked, whatever touched_ says
  std::set<std::pair<Instant, std::uint32_t>> queue_;  // those that have a deadline, with their ranks
};

}  // namespace charmtree::proto
