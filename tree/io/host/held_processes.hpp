// SPDX-License-Identifier: Apache-2.0
// Processes that have been stopped before their first instruction, for a debugger to look at them first,
// until they are let go (DESIGN D30).
#pragma once

#include <sys/types.h>

#include <set>

#include "tree/io/asio.hpp"
#include "tree/io/child_watch.hpp"

namespace charmtree::io {

class HeldProcesses {
public:
  HeldProcesses(asio::io_context& io, ChildWatch& watch) : watch_(watch), timer_(io) {}

  void add(pid_t pid) { held_.insert(pid); }
  /// This signal is not for the process: it is stopped already, or a debugger has it go on.
  bool keeps(pid_t pid, int signal);

private:
  void await_tracers();

  ChildWatch& watch_;
  asio::steady_timer timer_;
  std::set<pid_t> held_;
  std::set<pid_t> traced_;  // were let go while somebody traced them
};

}  // namespace charmtree::io
