// SPDX-License-Identifier: Apache-2.0
// The ends of a host's processes: brings together what the shell, the connection and the protocol of a
// process say of its end, and tells it upwards, once. It does not judge: what an exit means for the job is
// for the root to say.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "tree/job/host_turn.hpp"

namespace charmtree::proto {

class HostEnds {
public:
  /// How long a lost connection waits for the exit that explains it.
  static constexpr Duration kExplain = 300ms;
  /// How long an exit waits for the end of what the process still has to say on its connection, since that
  /// last said anything; longer only if somebody else holds the connection open.
  static constexpr Duration kLastWords = 3s;

  void on(const ProcessExited& event, HostTurn& turn);
  /// Of one that was to be started again; of others the start tells it.
  void on(const SpawnFailed& event, HostTurn& turn);
  void says(const Ended& output, HostTurn& turn);
  void says(Aborted& output, HostTurn& turn);
  void says(ClientLost& output, HostTurn& turn);
  void says(const Refused& output, HostTurn& turn);
  /// It hangs, and is killed if the user wants that. One that is stopped never is: somebody may want to look
  /// at it.
  void says(const wire::Silence& silence, HostTurn& turn);
  /// It has said something: its exit waits for what may follow.
  static void heard(OwnProcess& process, Instant now) {
    if (process.end.exit) process.end.report_by = now + kLastWords;
  }

  /// Tells the exits of those of whom nothing more is to be heard.
  void tell_heard(HostTurn& turn);
  /// Tells what has waited for long enough, of this process.
  void tick(std::uint32_t process, HostTurn& turn);
  /// It is about to be replaced, and what has not been told of it is not any more.
  void forget(std::uint32_t process) { waiting_exits_.erase(process); }
  /// The job is resized, and processes have other numbers.
  void reshape(const OwnProcesses& own);

private:
  void tell_exit(std::uint32_t process, const ProcessExited& event, HostTurn& turn);
  void tell_waiting_exit(std::uint32_t process, HostTurn& turn);
  std::string take_last_words(const OwnProcess& process);

  std::set<std::uint32_t> waiting_exits_;  // processes with KnownEnd::exit
  bool told_last_words_ = false;
};

}  // namespace charmtree::proto
