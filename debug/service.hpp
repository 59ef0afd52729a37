// SPDX-License-Identifier: Apache-2.0
// The services of debug/: debugger prompts (`charmrun ++gdb`), and tools beside processes (++exec, ++dap).
#pragma once

#include "debug/debug_component.hpp"
#include "debug/events.hpp"
#include "debug/messages.hpp"
#include "debug/session_desk.hpp"
#include "debug/tool_component.hpp"
#include "debug/tool_messages.hpp"

namespace charmtree::debug {

struct DebugService {
  using Messages = wire::MessageList<DebugOrder, DebugUp>;
  using Events = TypeList<DebugSaid, DebugAsked>;
  using Actions = TypeList<Debug, DebugHeard>;
  using Launcher = DebugComponent;
  using Root = DebugDesk;
};

struct ToolService {
  using Messages = wire::MessageList<ToolOrder, ToolSaid>;
  using Events = TypeList<ToolSpoke, ToolAsked>;
  using Actions = TypeList<RunTool, ToolHeard>;
  using Launcher = ToolComponent;
  using Root = ToolDesk;
};

}  // namespace charmtree::debug
