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
  /// As long as the root waits for its tree.
  static constexpr Duration kPatience = 5s;

  void ask(const StacksAsked& question);
  void turn(RootTurn& turn);
  void on(const wire::StacksUp& answer, Actions& out);
  /// No process is left to be asked about: nobody waits any longer.
  void give_up(Actions& out);
  /// Of the next run of the program: what could not be answered in this one.
  void take_over(StackInquiries before);
  /// True once: what the time limit waits for is known.
  bool has_seen_last() { return std::exchange(has_seen_last_, false); }

private:
  std::deque<StacksAsked> waiting_;  // the first one's question is open, or about to be
  std::uint32_t asked_ = 0;
  bool is_open_ = false, has_seen_last_ = false;
};

}  // namespace charmtree::proto
