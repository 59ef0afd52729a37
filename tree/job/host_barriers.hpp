// SPDX-License-Identifier: Apache-2.0
// The barriers that a host's processes have entered, in the present epoch: whenever one begins they are
// counted anew. What there is to tell of a crash is of an epoch, too.
#pragma once

#include "tree/job/host_turn.hpp"

namespace charmtree::proto {

class HostBarriers {
public:
  void entered(const BarrierEntered& entered, HostTurn& turn);
  static void opened(BarrierKind barrier, HostTurn& turn);
  /// A process knows of all crashes.
  void crash_acked(HostTurn& turn) const;

  /// A lost process is back. Of processes that have ended, or whose protocol tells them nothing, nobody waits
  /// to hear that they know: begin_recovery() goes before the others are told, ack_for_those() behind it.
  void begin_recovery(std::uint32_t epoch, HostTurn& turn);
  static void ack_for_those(HostTurn& turn);
  /// Clients enter barriers again, but for the one of those that leave: who has said that is heard no more.
  void renewed(std::uint32_t epoch, HostTurn& turn);
  /// Processes of the job are lost, and those of them that are here have been taken out of all barriers.
  void lost(std::uint32_t epoch, HostTurn& turn);

private:
  std::uint32_t epoch_ = 0;  // of the last table, or loss
};

}  // namespace charmtree::proto
