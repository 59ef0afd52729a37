// SPDX-License-Identifier: Apache-2.0
// The barriers of a world's processes on this host. All of the world are in the plain one. Those of groups
// (version 1.2: PMI_Barrier_group of MPICH's library) are of a list of ranks, of the ranks of this host, or
// of all once more, each with a tag; a process may be in several at a time. It may also enter one anew before
// others have left it: entries are in epochs, of which the first is left first.
//
// A barrier that others are in is a fence of the job, which is entered when all that live here are in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tree/clients/client_server.hpp"
#include "tree/clients/group_fences.hpp"
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

class PmiBarriers {
public:
  /// A request that is answered when the barrier is over.
  struct Entry {
    std::uint32_t process = 0;
    ClientId client = 0;
    const PmiCommand* asked = nullptr;
    std::string thread = {};
  };
  /// All that live here have entered this fence, or it is over for them.
  struct Step {
    wire::Fence fence;
    std::uint32_t tag = 0;
    std::vector<Entry> entries;
    bool is_over = false;
    std::string failure = {};  // why it has not gone well
    bool is_plain() const { return fence.name.empty(); }
  };

  /// Empty: it is in; or why it may not be.
  std::string enter(PmiGroup group, Entry entry);
  /// In how many it is.
  std::size_t entered(std::uint32_t process) const;
  void leave(std::uint32_t process);
  /// A fence of the job is over. False: nobody here is in it, so that what it brings is for nobody.
  bool over(const wire::FenceDown& fence, const LocalProcesses& local);
  /// What follows from all that. `lost`: those that nobody waits for.
  std::vector<Step> settle(const LocalProcesses& local, const wire::ProcessSet& lost);

private:
  struct Barrier {
    std::uint32_t tag = 0;
    GroupFences fences = {};
    bool is_waiting = false;                                 // in the last one that was entered
    std::deque<std::map<std::uint32_t, Entry>> epochs = {};  // by process
    std::optional<std::string> outcome = {};                 // of the last one; empty: it has gone well
  };
  using Barriers = std::map<wire::Fence, Barrier>;  // by the first fence of each
  static bool begins(const Barriers::value_type& each, const LocalProcesses& local,
                     const wire::ProcessSet& lost);
  static Step step(const Barriers::value_type& each, bool is_over);

  Barriers barriers_;
};

}  // namespace charmtree::proto
