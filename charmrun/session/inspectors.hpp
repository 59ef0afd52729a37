// SPDX-License-Identifier: Apache-2.0
// The doors of a root by which others of the same user look into its job: ++stack-trees and ++gdb.
#pragma once

#include <functional>
#include <string>

#include "charmrun/session/debug_listener.hpp"
#include "charmrun/session/stack_listener.hpp"
#include "charmrun/view/console.hpp"
#include "tree/io/host/runner.hpp"

namespace charmtree {

class Inspectors {
public:
  /// All outlive the object. `processes`: how many there are of what runs; those that are held (++debug) go
  /// on when debuggers have them all.
  Inspectors(io::asio::io_context& io, io::Runner& runner, Console& console,
             std::function<std::uint32_t()> processes, bool held = false);
  /// A job can do without; why is said.
  void open(const std::string& job);

private:
  Console& console_;
  StackListener stacks_;
  DebugListener debug_;
};

}  // namespace charmtree
