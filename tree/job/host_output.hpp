// SPDX-License-Identifier: Apache-2.0
// The pipes of a host's processes: what comes out of them goes to OutputCapture; and which are left alone
// while too much output waits.
#pragma once

#include "tree/job/host_turn.hpp"

namespace charmtree::proto {

class HostOutput {
public:
  static void on(const ProcessOutput& event, HostTurn& turn) {
    turn.own.at(event.process).output.read(event, turn.now, turn.way_of(event.process));
  }
  void on(const OutputDrained& event, HostTurn& turn);
  /// Its pipes are to be looked at, too.
  void on(const Spawned&, HostTurn&) { look_ = true; }
  /// Leaves the pipes of processes that run alone, or reads them again.
  void hold(bool held, OwnProcesses& own, Actions& out);

private:
  bool held_ = false;
  bool look_ = false;  // other pipes may have to be left alone than before
};

}  // namespace charmtree::proto
