// SPDX-License-Identifier: Apache-2.0
// The registrations of a host's processes: their tuples go up together once the last one has told its own,
// for the job's node table. Who registers later, as it was started again or stays in a job that is resized,
// is told by itself.
#pragma once

#include "tree/job/host_start.hpp"
#include "tree/job/host_turn.hpp"

namespace charmtree::proto {

class HostRegistration {
public:
  /// A process has registered, as its OwnProcess says already.
  void add(const Registered& output, const ReadyHost& host, HostTurn& turn);
  /// The job is resized, and `staying` of the processes have registered again.
  void reshape(std::uint32_t staying, const ReadyHost& host, HostTurn& turn);

  bool all_registered(const OwnProcesses& own) const { return registered_ == own.local().count; }
  /// When the last one did; kNever: not yet.
  Instant registered_at() const { return registered_at_; }

private:
  void tell_tuples(const ReadyHost& host, HostTurn& turn);

  std::uint32_t registered_ = 0;
  Instant registered_at_ = kNever;
};

}  // namespace charmtree::proto
