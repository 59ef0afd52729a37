// SPDX-License-Identifier: Apache-2.0
#include "tree/job/mpi_look.hpp"

#include <fmt/format.h>

namespace charmtree::proto {

namespace {

constexpr std::uint32_t kProcess = 0;

/// The process may still be one of these, and belongs to the job's first program.
bool is_unknown(const HostTurn& turn) {
  const OwnProcesses& own = turn.own;
  return own.local().contains(kProcess) && own.at(kProcess).is_alive() && !own.at(kProcess).kind;
}

}  // namespace

void MpiLook::on(const Spawned& event, HostTurn& turn) {
  if (event.process != kProcess || turn.job.processes < 2) return;
  if (turn.job.spawn.mpi.pmix != wire::MpiService::Pmix::offered) return;
  wait_ = kFirst;
  was_loaded_ = false;
  next_ = turn.now + wait_;
}

void MpiLook::tick(HostTurn& turn) {
  if (turn.now < next_) return;
  next_ = kNever;
  if (is_unknown(turn)) turn.out.push_back(LookForMpi{turn.own.name_of(kProcess)});
}

void MpiLook::on(const MpiLoaded& event, HostTurn& turn) {
  if (event.process != kProcess || !is_unknown(turn)) return;
  if (event.library.empty() || !was_loaded_) {
    was_loaded_ = !event.library.empty();
    wait_ *= 2;
    if (wait_ <= kLast) next_ = turn.now + wait_;
    return;
  }
  turn.up.messages.push_back(wire::Note{
      turn.host,
      fmt::format(
          "process {} has loaded {} and has not asked its launcher for the others: each process may be a job "
          "of its own; ++pmi pmix ends the job where Open MPI cannot be served, and says why",
          kProcess, event.library),
      true});
}

}  // namespace charmtree::proto
