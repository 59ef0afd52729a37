// SPDX-License-Identifier: Apache-2.0
#include "tree/io/host/held_processes.hpp"

#include <csignal>

#include "tree/base/time.hpp"
#include "tree/io/process_tree.hpp"

namespace charmtree::io {

/// Whoever traces it would be shown a SIGCONT that is none of the program's. But without one it would stop
/// again when he lets go of it: for the kernel it still is stopped.
bool HeldProcesses::keeps(pid_t pid, int signal) {
  if (signal == SIGTSTP || signal == SIGSTOP) {
    traced_.erase(pid);
    return held_.contains(pid);
  }
  if (signal != SIGCONT || held_.erase(pid) == 0 || tracer_of(pid) == 0) return false;
  traced_.insert(pid);
  await_tracers();
  return true;
}

void HeldProcesses::await_tracers() {
  constexpr auto kLook = 300ms;
  timer_.expires_after(kLook);
  timer_.async_wait([this](error_code stopped) {
    if (stopped) return;
    std::erase_if(traced_, [this](pid_t pid) {
      if (watch_.watched(pid) && tracer_of(pid) != 0) return false;
      watch_.signal_group(pid, SIGCONT);
      return true;
    });
    if (!traced_.empty()) await_tracers();
  });
}

}  // namespace charmtree::io
