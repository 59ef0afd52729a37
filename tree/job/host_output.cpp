// SPDX-License-Identifier: Apache-2.0
#include "tree/job/host_output.hpp"

namespace charmtree::proto {

void HostOutput::on(const OutputDrained& event, HostTurn& turn) {
  turn.flush(event.process, wire::Tail::prompt);
  turn.own.at(event.process).output.drained(event);
  look_ = true;
}

void HostOutput::hold(bool held, OwnProcesses& own, Actions& out) {
  if (held == held_ && !look_) return;
  held_ = held;
  look_ = false;
  for (std::uint32_t rank = 0; rank < own.local().size(); ++rank) {
    OwnProcess& process = own.all()[rank];
    if (!process.output.hold(held && process.state == OwnProcess::State::running)) continue;
    out.push_back(PauseOutput{own.name_of(own.local().at(rank)), process.output.held()});
  }
}

}  // namespace charmtree::proto
