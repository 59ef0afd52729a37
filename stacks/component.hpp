// SPDX-License-Identifier: Apache-2.0
// The stack component of a launcher. On a request it has the stacks of its own host's processes read, and
// adds up the answers of the launchers below (StackSet). A launcher that does not answer in time delays no
// other: its processes count as unread. A request that arrives while another one is open replaces it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "stacks/events.hpp"
#include "stacks/stack_set.hpp"
#include "tree/turn/turn.hpp"

namespace charmtree::stacks {

class StacksComponent {
public:
  /// A child gets this much less time to answer, for the way of its answer.
  static constexpr Duration kLevel = 200ms;

  void down(const StacksWanted& wanted, proto::Turn& turn);
  void on(const StacksRead& read, proto::Turn& turn);
  void up(proto::LinkId link, const StacksUp& answer, proto::Turn& turn);
  /// Sends the answer, once it is complete or due.
  void turn(proto::Turn& turn);
  /// Returns a real time, as a suspended job can be inspected.
  Instant next_real_deadline() const { return open_ ? open_->until : kNever; }

private:
  struct Open {
    std::uint32_t number;
    Instant until;
    bool awaits_host;
    std::set<proto::LinkId> below;  // children that have not answered yet
    StackSet stacks;
  };

  std::optional<Open> open_;
};

}  // namespace charmtree::stacks
