// SPDX-License-Identifier: Apache-2.0
// Of a job that runs several programs (`./a : ./b`, MPI_Comm_spawn): which of its processes run which, and
// which of them were started together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tree/wire/process_set.hpp"

namespace charmtree::wire {

/// One behind the job's first: its processes are those from `first` on, up to the next one's. Where its file
/// is on a host, that host's profile says; of one that was started by processes, its arguments do.
struct FurtherProgram {
  std::uint32_t first = 0;
  std::vector<std::string> arguments;    // [0] as the user wrote it
  std::vector<std::string> environment;  // "NAME=value": wins over the profile's
  bool begins_world = false;             // and no process of another program before it is in that World
  std::string directory;                 // where it starts; empty: where the host's programs do
  friend bool operator==(const FurtherProgram&, const FurtherProgram&) = default;
};

/// Processes that were started together, and are numbered from 0 among themselves (MPI_COMM_WORLD): the job's
/// own, or those that one of its processes had started (MPI_Comm_spawn).
struct World {
  std::uint32_t first = 0, size = 0;
  bool is_spawned() const { return first > 0; }
  bool contains(std::uint32_t process) const { return process >= first && process - first < size; }
  ProcessSet::Range range() const { return {first, first + size - 1}; }
};
/// The one that the process is in; the job has so many processes.
World world_of(const std::vector<FurtherProgram>& further, std::uint32_t processes, std::uint32_t process);

/// The first process of each of the job's programs; that of the job's first is 0.
std::vector<std::uint32_t> first_processes(const std::vector<FurtherProgram>& further);

/// Which program the process runs, by these: 0: the job's first, k: further[k - 1].
std::uint32_t program_of(const std::vector<std::uint32_t>& firsts, std::uint32_t process);
std::uint32_t program_of(const std::vector<FurtherProgram>& further, std::uint32_t process);

/// Each has a process of so many, and they are in order.
bool is_division(const std::vector<FurtherProgram>& further, std::uint32_t processes);

}  // namespace charmtree::wire
