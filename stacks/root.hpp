// SPDX-License-Identifier: Apache-2.0
// The root's half of the stack service: keeps the requests for the stacks of all processes. One request is
// open at a time; others wait.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>

#include "stacks/events.hpp"
#include "tree/job/root_turn.hpp"

namespace charmtree::stacks {

class StacksRoot {
public:
  /// The time that launchers get to answer; in a job that ends because of a crash.
  static constexpr Duration kPatience = 5s, kCrashPatience = 2s;

  /// Drops a request for the same reason as one that waits, except for clients' requests.
  void ask(const StacksAsked& question);
  void on(const StacksAsked& question, proto::RootTurn&) { ask(question); }
  /// Reports the result. If a crash ends the job, reports the crashed process's functions to the judge, too.
  void up(const StacksUp& answer, proto::RootTurn& turn);
  /// Sends the next request; requests the stacks if a crash ends the job.
  void turn(proto::RootTurn& turn);
  /// Takes the requests over that the last run of the program could not answer.
  void take_over(StacksRoot before);
  /// Returns true while the end of a job that has crashed waits for the stacks, which would be lost with the
  /// processes. Not in a job that is killed.
  bool holds_end(const proto::Verdict& verdict) const;
  /// Returns true once, when the result is there for which the time limit waits.
  bool has_seen_last() { return std::exchange(has_seen_last_, false); }

private:
  void give_up(proto::RootTurn& turn);

  std::deque<StacksAsked> waiting_;  // the first one is open, or about to be
  std::uint32_t asked_ = 0;
  bool is_open_ = false, has_seen_last_ = false, knows_end_ = false;
};

}  // namespace charmtree::stacks
