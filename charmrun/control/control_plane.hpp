// SPDX-License-Identifier: Apache-2.0
// The services that the charmrun of every job offers on its control socket, whatever the kind of job: status,
// orders, stacks, debug, tools and view. A session adds its own (charmrun/session/session_service.hpp).
#pragma once

#include <functional>
#include <string>

#include "charmrun/control/debug_service.hpp"
#include "charmrun/control/listener.hpp"
#include "charmrun/control/order_service.hpp"
#include "charmrun/control/stack_service.hpp"
#include "charmrun/control/tool_service.hpp"
#include "charmrun/control/view_service.hpp"
#include "charmrun/view/console.hpp"
#include "tree/io/host/runner.hpp"

namespace charmtree::control {

class ControlPlane {
public:
  /// The parts that differ between kinds of jobs. Called from the loop.
  struct Job {
    std::function<std::uint32_t()> processes;  // number of those that run
    std::function<std::string()> status;       // see status_json
    std::function<Result<void>(Order)> obey;
  };
  /// The clients that must have all processes of a held job before it goes on: none, prompts of debuggers
  /// (++debug), or viewers (++in-xterm).
  enum class HeldFor : std::uint8_t { none, prompts, viewers };
  /// Adds the services to the listener. All arguments outlive the object; the loop does not run after its end
  /// unless finish() was called.
  ControlPlane(io::asio::io_context& io, Listener& listener, io::Runner& runner, Console& console,
               const Job& job, HeldFor held_for = HeldFor::none);
  /// The job is over. Runs the loop for a moment, for clients that read its end, and finishes the listener.
  void finish(const proto::Finish& result);

private:
  Listener& listener_;
  StackService stacks_;
  DebugService debug_;
  ToolService tools_;
  ViewService views_;
};

}  // namespace charmtree::control
