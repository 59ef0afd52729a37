// SPDX-License-Identifier: Apache-2.0
// The root's half of debugger sessions: which prompts there are. Each has a session of its own; a process can
// be in one of them, as it has one tracer.
#pragma once

#include <cstdint>
#include <map>

#include "tree/job/root_turn.hpp"

namespace charmtree::proto {

class DebugDesk {
public:
  /// `order.session` is given here.
  void ask(const DebugAsked& asked, RootTurn& turn);
  void on(const wire::DebugUp& said, Actions& out) const;
  /// Somebody holds processes: those for which others wait may be among them.
  bool is_open() const { return !sessions_.empty(); }
  /// The run is over: so are all sessions.
  void end(RootTurn& turn);

private:
  std::map<std::uint64_t, std::uint32_t> sessions_;  // by ticket
  std::uint32_t last_ = 0;
};

}  // namespace charmtree::proto
