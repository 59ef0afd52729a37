// SPDX-License-Identifier: Apache-2.0
// Events and actions of debuggers and tools. A part of the vocabulary of
// tree/turn/events.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "tree/base/time.hpp"
#include "tree/turn/event.hpp"
#include "tree/wire/debug.hpp"
#include "tree/wire/tools.hpp"

namespace charmtree::proto {

// ---- events

/// What the debuggers of this host have said in a session (Debug). `done`: they have answered that order, 0:
/// not yet.
struct DebugSaid {
  using Family = Event;
  std::uint32_t session = 0, done = 0;
  wire::DebugAnswers said;
};
/// Root: of the prompt with that ticket, which hears DebugHeard. The session is the root's to give.
struct DebugAsked {
  using Family = Event;
  std::uint64_t ticket = 0;
  wire::DebugOrder order;
};
/// Of a tool of this host (RunTool).
struct ToolSpoke {
  using Family = Event;
  wire::ToolSaid said;
};
/// Root: of who runs tools, with that ticket, and hears ToolHeard. The session is the root's to give.
struct ToolAsked {
  using Family = Event;
  std::uint64_t ticket = 0;
  wire::ToolOrder order;
};

// ---- actions

/// For the debuggers of this host's processes. Answers DebugSaid.
struct Debug {
  using Family = Action;
  wire::DebugOrder order;
};
/// For the tool that a session has on this host; those of `order.which` are here. Answers ToolSpoke.
/// `names`: by which the shell knows these processes, as far as they live.
struct RunTool {
  using Family = Action;
  wire::ToolOrder order;
  std::vector<std::uint32_t> names = {};
};
/// Root: for the prompt with that ticket. `over`: it has no session any more.
struct DebugHeard {
  using Family = Action;
  std::uint64_t ticket = 0;
  wire::DebugUp up;
  bool over = false;
};
/// Root: for who runs tools, with that ticket. `over`: as of DebugHeard.
struct ToolHeard {
  using Family = Action;
  std::uint64_t ticket = 0;
  wire::ToolSaid said;
  bool over = false;
};

}  // namespace charmtree::proto
