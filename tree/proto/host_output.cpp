// SPDX-License-Identifier: Apache-2.0
// The part of HostProcesses that says which pipes are read. Those that hold copies always are: a stock
// Charm++ client would wait in its writes there, and with it all that it owes to others.
#include "tree/proto/host_processes.hpp"

namespace charmtree::proto {

void HostProcesses::hold_output(bool held, Actions& out) {
  if (held == output_held_ && !look_at_pipes_) return;
  output_held_ = held;
  look_at_pipes_ = false;
  for (std::uint32_t i = 0; i < local_.size(); ++i) {
    Process& process = processes_[i];
    const bool wanted =
        held && process.state == Process::State::running && !process.copied[0] && !process.copied[1];
    if (wanted == process.held) continue;
    process.held = wanted;
    out.push_back(PauseOutput{name_of(local_.at(i)), wanted});
  }
}

}  // namespace charmtree::proto
