// SPDX-License-Identifier: Apache-2.0
// The doors of a root by which others of the same user look into its job, and at it: ++stack-trees, ++gdb,
// ++exec and ++dap, ++view.
#pragma once

#include <functional>
#include <string>

#include "charmrun/session/debug_listener.hpp"
#include "charmrun/session/stack_listener.hpp"
#include "charmrun/session/tool_listener.hpp"
#include "charmrun/session/view_listener.hpp"
#include "charmrun/view/console.hpp"
#include "tree/io/host/runner.hpp"

namespace charmtree {

class Inspectors {
public:
  /// What the job says of itself; called from the loop.
  struct Sources {
    std::function<std::uint32_t()> processes;  // how many there are of what runs
    std::function<std::string()> status;       // as ++status has it
  };
  /// Who must have all of its processes before a held job goes on, if anybody: prompts of debuggers
  /// (++debug), or viewers (++in-xterm).
  enum class HeldFor : std::uint8_t { nobody, prompts, viewers };
  /// All outlive the object.
  Inspectors(io::asio::io_context& io, io::Runner& runner, Console& console, const Sources& sources,
             HeldFor held_for = HeldFor::nobody);
  /// A job can do without; why is said.
  void open(const std::string& job);
  /// The job is over. Runs the loop for a moment.
  void finish(const proto::Finish& result) { views_.finish(result); }

private:
  Console& console_;
  StackListener stacks_;
  DebugListener debug_;
  ToolListener tools_;
  ViewListener views_;
};

}  // namespace charmtree
