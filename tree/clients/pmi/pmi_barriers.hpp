// SPDX-License-Identifier: Apache-2.0
// The barriers of a world's processes on this host. All of the world are in the plain one. Those of groups
// (version 1.2: PMI_Barrier_group of MPICH's library) are of a list of ranks, of the ranks of this host, or
// of all once more, each with a tag. A barrier that others are in is a fence of the job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tree/clients/client_server.hpp"
#include "tree/clients/fence_entries.hpp"
#include "tree/clients/pmi/pmi_commands.hpp"
#include "tree/wire/programs.hpp"

namespace charmtree::proto {

inline constexpr auto kPmiService = static_cast<std::uint8_t>(ClientKind::pmi);

/// Which processes are together in a barrier.
struct PmiGroup {
  wire::Fence fence;  // the first one; without a name: the plain one
  std::uint32_t tag = 0;
  /// "WORLD:7", "NODE:7" or "0,4,8:7", of which the process is one; empty: the plain one. Nothing: it is no
  /// such group.
  static std::optional<PmiGroup> read(std::string_view text, std::uint32_t process, const wire::World& world,
                                      const LocalProcesses& local);
};

/// A request that is answered when the barrier is over.
struct PmiEntry {
  std::uint32_t process = 0;
  ClientId client = 0;
  const PmiCommand* asked = nullptr;
  std::uint32_t tag = 0;
  std::string thread = {};
};
using PmiBarriers = FenceEntries<PmiEntry>;

/// Nobody of another host is in it.
bool is_of_host(const wire::Fence& fence);

}  // namespace charmtree::proto
