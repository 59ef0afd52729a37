// SPDX-License-Identifier: Apache-2.0
// The part that asks what all processes do (StacksWanted): each launcher has those of its own host looked at,
// and adds up what those below it tell (proto::StackSet). Nobody waits for one that does not answer: its
// processes are told as such. A question that comes while another one is open takes its place.
//
// Its messages: StacksWanted, StacksUp.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "stacks/stack_set.hpp"
#include "tree/turn/turn.hpp"

namespace charmtree::proto {

class StacksPart {
public:
  /// For what is said on one more level of the tree.
  static constexpr Duration kLevel = 200ms;

  void down(const wire::StacksWanted& wanted, Turn& turn);
  /// Of this host.
  void on(const StacksRead& read, Turn& turn);
  void up(LinkId link, const wire::StacksUp& answer, Turn& turn);
  /// What can be told goes up.
  void turn(Turn& turn);
  /// In real time.
  Instant next_deadline() const { return open_ ? open_->until : kNever; }

private:
  struct Open {
    std::uint32_t number;
    Instant until;
    bool awaits_host;
    std::set<LinkId> below;  // that have yet to answer
    StackSet stacks;
  };

  std::optional<Open> open_;
};

}  // namespace charmtree::proto
