// SPDX-License-Identifier: Apache-2.0
// The events and actions of debuggers and of tools.
#pragma once

#include <cstdint>
#include <vector>

#include "debug/messages.hpp"
#include "debug/tool_messages.hpp"
#include "tree/base/time.hpp"
#include "tree/turn/event.hpp"

namespace charmtree::debug {

using proto::Action;
using proto::Event;

// ---- events

/// The debuggers of this host report answers in a session (Debug). `done`: the number of the order that all
/// of them have answered; 0: none.
struct DebugSaid {
  using Family = Event;
  std::uint32_t session = 0, done = 0;
  DebugAnswers said;
};
/// Root: an order of the prompt with that ticket, which receives DebugHeard. The root sets `order.session`.
struct DebugAsked {
  using Family = Event;
  std::uint64_t ticket = 0;
  DebugOrder order;
};
/// A tool of this host (RunTool) reports output, its start or its end.
struct ToolSpoke {
  using Family = Event;
  ToolSaid said;
};
/// Root: an order of the client with that ticket, which receives ToolHeard. The root sets `order.session`.
struct ToolAsked {
  using Family = Event;
  std::uint64_t ticket = 0;
  ToolOrder order;
};

// ---- actions

/// For the debuggers of this host's processes. Answers DebugSaid.
struct Debug {
  using Family = Action;
  DebugOrder order;
};
/// For the tool that a session has on this host; those of `order.which` are here. Answers ToolSpoke.
/// `names`: by which the shell knows these processes, as far as they live.
struct RunTool {
  using Family = Action;
  ToolOrder order;
  std::vector<std::uint32_t> names = {};
};
/// Root: for the prompt with that ticket. `over`: it has no session any more.
struct DebugHeard {
  using Family = Action;
  std::uint64_t ticket = 0;
  DebugUp up;
  bool over = false;
};
/// Root: for who runs tools, with that ticket. `over`: as of DebugHeard.
struct ToolHeard {
  using Family = Action;
  std::uint64_t ticket = 0;
  ToolSaid said;
  bool over = false;
};

}  // namespace charmtree::debug
