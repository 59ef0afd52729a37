// SPDX-License-Identifier: Apache-2.0
// The root's half of worlds (wire::World): processes of the job have others started (MPI_Comm_spawn). The
// root gives these the next numbers and their hosts, and tells everybody; their output, their ends and their
// signals are those of any process of the job. Whether processes may start others at all is the root's
// decision (MpiService::may_spawn): where they may, each process and each host of the job can start programs
// on all.
//
// Its messages: WorldWanted; WorldBegun, Answered.
#pragma once

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

  /// `absent`: hosts that cannot be started. What is asked before all hosts are up is asked again.
  void on(const wire::WorldWanted& wanted, const std::set<std::uint32_t>& absent, RootTurn& turn);

private:
  using Asker = std::pair<std::uint32_t, wire::InquiryId>;
  bool may_spawn() const { return job_->spawn.mpi.may_spawn; }
  std::string why_not(const wire::WorldWanted& wanted) const;
  void report(const wire::WorldWanted& wanted, const std::string& failure, RootTurn& turn);
  std::string place(const wire::ProgramWanted& wanted, const std::set<std::uint32_t>& absent,
                    std::uint32_t first, std::vector<wire::Share>& shares);

  std::shared_ptr<const wire::JobSpec> job_;
  const std::vector<Host>& hosts_;
  std::vector<std::uint32_t> processes_;  // that each host has been given so far
  std::map<Asker, std::uint32_t> begun_;  // the first process of each: it may be asked for twice
  std::size_t bytes_ = 0;                 // of all of them
  bool has_refused_ = false;              // and the first refusal has been printed
};

}  // namespace charmtree::proto
