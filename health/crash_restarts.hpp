// SPDX-License-Identifier: Apache-2.0
// The root's part in starting lost processes of fault-tolerant Charm++ programs again: one after the other,
// as CrashSequence says, each behind a new table for the others.
#pragma once

#include <cstdint>
#include <optional>

#include "health/crash_sequence.hpp"
#include "tree/job/root_turn.hpp"

namespace charmtree::proto {

class CrashRestarts {
public:
  /// Everybody has been sent the first table. `timeout`: for a new process to register. Before that nothing
  /// is started again.
  void begin(wire::NodeTable table, Duration timeout);
  void on(const wire::Rejoined& message, Instant now);
  /// Facts::crash_acks.
  void acked(std::uint32_t epoch, std::uint32_t count, Instant now);
  /// While the user reads no output, processes may wait in their prints: nobody is late.
  void stalled(bool stalled, Instant now);
  void turn(RootTurn& turn);
  Instant next_deadline() const { return sequence_ ? sequence_->next_deadline() : kNever; }

private:
  void crashed(const wire::ProcessExit& exit, RootTurn& turn);
  void send_orders(RootTurn& turn);

  Duration timeout_{0};
  std::optional<CrashSequence> sequence_;        // from the first table on
  std::optional<wire::ProcessExit> last_crash_;  // while a process is not back
};

}  // namespace charmtree::proto
