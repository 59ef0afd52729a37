// SPDX-License-Identifier: Apache-2.0
// Commands that start launchers where they like, but carry no bytes to and from them: the launchers connect
// back. One table says what each needs; who is not in it logs in to the hosts.
#pragma once

#include <cstdint>
#include <string_view>

namespace charmtree {

/// ++transport: what starts the launchers, unless a remote shell was named. `automatic`: srun in an
/// allocation of Slurm, else ssh. In the order of its words; `mpiexec` is none: ++mpiexec says it.
enum class StartedBy : std::uint8_t { automatic, ssh, srun, blaunch, flux, pbsdsh, mpiexec };

struct ConnectingStarter {
  std::string_view name;     // as people call it
  std::string_view option;   // by which it is chosen
  std::string_view command;  // its words, unless a remote shell takes their place
  /// -n says how many it is to start; else it starts one for each slot of the allocation.
  bool takes_count = true;
  /// For sh, before a launcher: how it gets PMI_RANK. Empty: the starter sets it, or one like it.
  std::string_view rank;
};

/// Null: launchers need not connect to whoever starts them so.
const ConnectingStarter* find_connecting_starter(StartedBy transport);

}  // namespace charmtree
