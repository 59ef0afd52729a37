// SPDX-License-Identifier: Apache-2.0
// A program whose MPI does not show, and that does not find what it is offered (wrappers can take variables
// and descriptors away, a host can lack a usable libpmix), is as many jobs of one process, each with status
// 0. The launcher of process 0 looks what that has loaded; one line names what is to be tried.
#pragma once

#include "tree/base/time.hpp"
#include "tree/job/host_turn.hpp"

namespace charmtree::proto {

class MpiLook {
public:
  void on(const Spawned& event, HostTurn& turn);
  void on(const MpiLoaded& event, HostTurn& turn);
  void tick(HostTurn& turn);
  Instant next_deadline() const { return next_; }

private:
  /// Between looks; each is twice the one before. A program that is about to call MPI_Init is seen once at
  /// most.
  static constexpr Duration kFirst = 500ms, kLast = 32s;

  Instant next_ = kNever;
  Duration wait_ = kFirst;
  bool was_loaded_ = false;  // at the last look
};

}  // namespace charmtree::proto
