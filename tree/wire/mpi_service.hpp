// SPDX-License-Identifier: Apache-2.0
// By what the processes of an MPI program find each other: what a job says of it, for the servers of each
// host (tree/clients/pmi, tree/clients/pmix).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace charmtree::wire {

/// So many hosts with consecutive indexes, from this one on, have so many processes each.
struct HostRun {
  std::uint32_t first = 0, hosts = 0, processes = 0;
  friend bool operator==(const HostRun&, const HostRun&) = default;
};

/// That host, behind all that are in it already, has so many.
void append(std::vector<HostRun>& layout, std::uint32_t host, std::uint32_t processes);

/// Whose MPI a program uses: MPICH's and all that descend from it share one way to find each other.
enum class Mpi : std::uint8_t { none, mpich, open_mpi, unknown };

struct MpiService {
  /// Clients of PMI-1 since MPICH 3.4 take no more than they can. It is even: MPICH 5 halves it, and rounds.
  static constexpr std::uint32_t kMostValue = 16384;
  enum class Pmi : std::uint8_t {
    none,
    one,   // and two, for who asks for that
    two,   // libraries are told to speak it
    port,  // as one, over a connection that each process makes itself
  };
  enum class Pmix : std::uint8_t {
    none,
    offered,  // the helper of a host starts when the first process connects
    needed,   // without a helper a host cannot be in the job
  };
  Pmi pmi = Pmi::one;  // over its connection each process may speak this version
  Pmix pmix = Pmix::none;
  std::vector<HostRun> layout = {};       // of the processes, in their order; empty: not known yet
  std::vector<std::string> names = {};    // of all hosts, by index, if PMIx is needed
  std::string name_space = {};            // of its processes: other users, who cannot know it, cannot be one
  std::uint32_t most_value = kMostValue;  // bytes of one that is put by PMI-1
  Mpi library = Mpi::none;                // which the program needs, as far as it shows
  std::uint32_t universe = 0;             // MPI_UNIVERSE_SIZE; 0: the number of the job's processes
  bool may_spawn = false;  // its processes may start others, on every host of the job; the root decides
  /// Returns MPI_UNIVERSE_SIZE of a job of so many processes.
  std::uint32_t universe_of(std::uint32_t processes) const { return universe > 0 ? universe : processes; }
  bool is_any() const { return pmi != Pmi::none || pmix != Pmix::none; }
  /// Its processes will ask what their host consists of.
  bool asks_topology() const { return pmi != Pmi::none && library == Mpi::mpich; }
  friend bool operator==(const MpiService&, const MpiService&) = default;
};

}  // namespace charmtree::wire
