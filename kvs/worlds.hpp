// SPDX-License-Identifier: Apache-2.0
// The root's half of worlds (wire::World): processes of the job have others started (MPI_Comm_spawn). The
// root gives these the next numbers and their hosts, and tells everybody; their output, their ends and their
// signals are those of any process of the job. Whether processes may start others at all is the root's
// decision (MpiService::may_spawn): where they may, each process and each host of the job can start programs
// on all.
//
// Its messages: WorldWanted; WorldBegun, Answered.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tree/job/root_turn.hpp"

namespace charmtree::proto {

class Worlds {
public:
  /// `hosts` are the job's; must outlive the object.
  Worlds(std::shared_ptr<const wire::JobSpec> job, const std::vector<Host>& hosts)
      : job_(std::move(job)), hosts_(hosts) {}

  /// Worlds that a job may have.
  static constexpr std::size_t kMost = 100'000;
  /// Spawned processes that a host may be given in all. Its launcher keeps about 1 KiB of each.
  static constexpr std::uint32_t kMaxSpawnedOnHost = 1U << 16;
  /// Bytes of arguments and variables of all of them, and of what is given to them: each host may have to
  /// keep them.
  static constexpr std::size_t kMostBytes = 64U << 20;

  /// Bytes of requests that wait until all hosts are up.
  static constexpr std::size_t kMaxEarlyBytes = 4U << 20;

  /// Answers the request, or keeps it until all hosts are up. `absent`: hosts that cannot be started. Ignores
  /// requests once the job ends: no process waits for an answer then.
  void on(wire::WorldWanted wanted, const std::set<std::uint32_t>& absent, RootTurn& turn);
  /// Answers the requests that have waited, once all hosts are up. To be called in each turn.
  void after_event(const std::set<std::uint32_t>& absent, RootTurn& turn);

private:
  using Asker = std::pair<std::uint32_t, wire::InquiryId>;
  void keep(wire::WorldWanted wanted, RootTurn& turn);
  void decide(const wire::WorldWanted& wanted, const std::set<std::uint32_t>& absent, RootTurn& turn);
  void refuse(const wire::WorldWanted& wanted, std::string why, RootTurn& turn);
  bool may_spawn() const { return job_->spawn.mpi.may_spawn; }
  /// Returns how many processes the job has. Its description counts those of a world only after the event.
  std::uint32_t processes() const { return std::max(job_->processes, next_); }
  std::string why_not(const wire::WorldWanted& wanted) const;
  void report(const wire::WorldWanted& wanted, const std::string& failure, RootTurn& turn);
  std::string place(const wire::ProgramWanted& wanted, const std::set<std::uint32_t>& absent,
                    std::uint32_t first, std::vector<wire::Share>& shares);

  std::shared_ptr<const wire::JobSpec> job_;
  const std::vector<Host>& hosts_;
  std::vector<std::uint32_t> processes_;      // that each host has been given so far
  std::uint32_t next_ = 0;                    // behind the last process of the last world
  std::map<Asker, std::uint32_t> begun_;      // the first process of each: it may be asked for twice
  std::size_t bytes_ = 0;                     // of all of them
  std::map<Asker, wire::WorldWanted> early_;  // requests that wait until all hosts are up
  std::size_t early_bytes_ = 0;               // of all of them
  bool has_refused_ = false;                  // and the first refusal has been printed
};

}  // namespace charmtree::proto
