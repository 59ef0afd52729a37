// SPDX-License-Identifier: Apache-2.0
// What the root does about lost processes of a program that restarts them (Charm++'s fault-tolerant builds):
// the lost one is started anew; when it has registered, all others get the table with its new port and are
// told who was lost; when all of them know, the new one gets the table and goes on. Knows nothing of hosts
// or of how a process was lost.
//
// Losses are handled one at a time, in their order. One that comes before everybody knows of the one before
// ends the wait for that: the next is begun, with the next phase, and those that are back wait on until
// everybody knows of the last. What survivors say of an earlier sequence does not count.
#pragma once

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "health/restart_budget.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::proto {

class CrashSequence {
public:
  /// Begins when every process has been sent `table`. `timeout`: for a new process to register.
  CrashSequence(wire::NodeTable table, Duration timeout) : table_(std::move(table)), timeout_(timeout) {}

  /// A process has been lost. Returns why it cannot be restarted; empty: it is or will be.
  std::string lost(std::uint32_t process, Instant now);
  void rejoined(const wire::Rejoined& message, Instant now);
  /// So many more processes know of the crash that led to the table of that epoch.
  void acked(std::uint32_t epoch, std::uint32_t count, Instant now);
  /// While the user reads no output, processes may wait in their prints: nobody is late.
  void stalled(bool stalled, Instant now);

  /// The Restart, Recover and Admit messages that have to be sent now, in order.
  std::vector<wire::Message> take_orders() { return std::exchange(orders_, {}); }
  /// Some process is not back yet.
  bool in_progress() const { return starting_ || !queue_.empty() || !joining_.empty(); }
  /// The process that should have registered by now.
  std::optional<std::uint32_t> late(Instant now) const;
  Instant next_deadline() const { return register_by_; }

private:
  std::uint32_t survivors() const;
  void begin_next(Instant now);

  wire::NodeTable table_;
  Duration timeout_;
  std::uint32_t phase_ = 1;  // as Charm++ counts: 2 is the first restart's
  std::deque<std::uint32_t> queue_;
  std::optional<std::uint32_t> starting_;
  std::set<std::uint32_t> joining_;  // registered, without a table
  bool spreading_ = false;           // survivors are learning of the last crash
  std::uint32_t acks_ = 0;
  bool stalled_ = false;
  Instant register_by_ = kNever;
  RestartBudget budget_;
  std::vector<wire::Message> orders_;
};

}  // namespace charmtree::proto
