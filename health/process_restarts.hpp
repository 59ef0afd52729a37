// SPDX-License-Identifier: Apache-2.0
// What the root does about lost processes of plain and client-lib programs that are to be started again where
// they were (++on-failure restart). Knows nothing of how a process was lost.
//
// Nobody waits for anybody, so losses need not be dealt with one at a time, as Charm++'s (CrashSequence):
// a process that others have in their table registers again; then the table is of the next epoch, of which
// only the new tuples go to those who have it (Renewed), and the process itself gets it whole (Readmit).
// Links keep the order of messages, so that whoever hears of an epoch has passed all barriers that opened
// before it, and no other: all agree on how many. Entries of barriers count for one epoch alone; clients
// enter again. None opens from the time that a loss is known until the process is back. So a barrier opens
// when all processes, each in its present life, have entered it. What is said
// of or to a life that is over comes, on the same links, before the order for the next one.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "health/restart_budget.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::proto {

class ProcessRestarts {
public:
  /// Before the second restart of a process in a row; doubles with each.
  static constexpr Duration kFirstPause = 100ms;

  /// `most`: restarts in all. `timeout`: for a new process to register, if others wait for that.
  ProcessRestarts(std::uint32_t most, Duration timeout) : budget_(most, kFirstPause), timeout_(timeout) {}

  /// Everybody has been sent this table.
  void begin(wire::NodeTable table) { table_ = std::move(table); }
  /// The process is lost. Why it is not started again; empty: it is. `has_registered`: before the first table
  /// that counts, and its successor comes too late for it: everybody hears of that one behind the table.
  std::string lost(std::uint32_t process, bool has_registered, Instant now);
  /// The same of one that was lost with its host; it is not started before it has been placed. `counts`: see
  /// RestartBudget.
  std::string lost_with_host(std::uint32_t process, bool has_registered, RestartBudget::Counts counts,
                             Instant now);
  /// It can be started, on the host where it is now.
  void placed(std::uint32_t process);
  /// On host `host`. False: nobody waits for it.
  bool rejoined(const wire::Rejoined& message, std::uint32_t host, Instant now);
  /// While the user reads no output, processes may wait in their prints: nobody is late.
  void stalled(bool stalled, Instant now);

  /// The messages that have to be sent now: those for everybody, and those for one process.
  struct Orders {
    std::vector<wire::Restart> restarts;
    std::optional<wire::Renewed> renewed;
    std::vector<wire::Readmit> readmissions;  // behind it
  };
  /// `barriers`: have opened so far.
  Orders take_orders(std::uint32_t barriers, Instant now);

  std::uint32_t restarts(std::uint32_t process) const { return budget_.restarts(process); }
  /// Processes that are lost and not back.
  bool in_progress() const { return is_any_absent() || !register_by_.empty() || !back_.empty(); }
  /// It is lost, and the order for its successor has not been given.
  bool is_absent(std::uint32_t process) const {
    return due_.contains(process) || unplaced_.contains(process);
  }
  bool is_any_absent() const { return !due_.empty() || !unplaced_.empty(); }
  /// One that should have registered by now.
  std::optional<std::uint32_t> late(Instant now) const;
  Instant next_deadline() const;

private:
  void forget(std::uint32_t process, bool has_registered);

  RestartBudget budget_;
  Duration timeout_;
  bool stalled_ = false;
  std::optional<wire::NodeTable> table_;
  std::map<std::uint32_t, Instant> due_;          // lost ones, to be started then
  std::map<std::uint32_t, Instant> unplaced_;     // those that have no host yet
  std::set<std::uint32_t> awaited_;               // which of them others have, or will have, in their table
  std::map<std::uint32_t, Instant> register_by_;  // started, if others have them in their table
  std::vector<wire::TupleBlock> back_;            // registered, and nobody has been told
};

}  // namespace charmtree::proto
