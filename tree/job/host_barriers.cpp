// SPDX-License-Identifier: Apache-2.0
#include "tree/job/host_barriers.hpp"

namespace charmtree::proto {

/// Whoever holds the connection of a process whose end has been told is not the process.
void HostBarriers::entered(const BarrierEntered& entered, HostTurn& turn) {
  OwnProcess& process = turn.own.at(entered.process);
  if (process.end.told) return;
  turn.up.facts.epoch = epoch_;
  ++turn.up.facts.barrier[static_cast<std::size_t>(entered.kind)];
  process.entered[static_cast<std::size_t>(entered.kind)] = true;
}

void HostBarriers::opened(BarrierKind barrier, HostTurn& turn) {
  for (OwnProcess& process : turn.own.all()) process.entered[static_cast<std::size_t>(barrier)] = false;
}

void HostBarriers::crash_acked(HostTurn& turn) const {
  turn.up.facts.epoch = epoch_;
  ++turn.up.facts.crash_acks;
}

void HostBarriers::begin_recovery(std::uint32_t epoch, HostTurn& turn) {
  epoch_ = epoch;
  turn.up.facts.epoch = epoch_;
}

void HostBarriers::ack_for_those(HostTurn& turn) {
  for (const OwnProcess& process : turn.own.all()) {
    const bool acks = process.can().restart == Abilities::Restartable::with_all;
    if (acks ? process.end.said : !process.awaited) ++turn.up.facts.crash_acks;
  }
}

void HostBarriers::renewed(std::uint32_t epoch, HostTurn& turn) {
  epoch_ = epoch;
  turn.up.facts.epoch = epoch_;
  constexpr auto kLeave = static_cast<std::size_t>(BarrierKind::leave);
  for (OwnProcess& process : turn.own.all()) {
    const bool leaves = process.entered[kLeave];
    process.entered = {};
    process.entered[kLeave] = leaves;
    turn.up.facts.barrier[kLeave] += leaves ? 1 : 0;
  }
}

void HostBarriers::lost(std::uint32_t epoch, HostTurn& turn) {
  epoch_ = epoch;
  turn.up.facts.epoch = epoch_;
  for (const OwnProcess& process : turn.own.all()) {
    for (std::size_t kind = 0; kind < kBarrierKinds; ++kind)
      turn.up.facts.barrier[kind] += process.entered[kind] ? 1 : 0;
  }
}

}  // namespace charmtree::proto
