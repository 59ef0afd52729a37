// SPDX-License-Identifier: Apache-2.0
// The root's half of stack trees: who wants to know what all processes do. One question is open at a time;
// others wait their turn.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>

#include "tree/job/root_turn.hpp"

namespace charmtree::proto {

class StackInquiries {
public:
  /// As long as the root waits for its tree; and as long as a job that has crashed waits.
  static constexpr Duration kPatience = 5s, kCrashPatience = 2s;

  void ask(const StacksAsked& question);
  /// Asks; also when the job is about to end, if a crash ends it.
  void turn(RootTurn& turn);
  /// Where the process crashed that ends the job, the judge hears as well.
  void on(const wire::StacksUp& answer, Judge& judge, Actions& out);
  /// Of the next run of the program: what could not be answered in this one.
  void take_over(StackInquiries before);
  /// What the others did when a process crashed is not known yet: it is lost with them. Not of a job that is
  /// to be killed.
  bool holds_end(const Verdict& verdict) const;
  /// True once: what the time limit waits for is known.
  bool has_seen_last() { return std::exchange(has_seen_last_, false); }

private:
  void give_up(RootTurn& turn);

  std::deque<StacksAsked> waiting_;  // the first one's question is open, or about to be
  std::uint32_t asked_ = 0;
  bool is_open_ = false, has_seen_last_ = false, knows_end_ = false;
};

}  // namespace charmtree::proto
