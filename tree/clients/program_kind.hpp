// SPDX-License-Identifier: Apache-2.0
// What programs can do and bear, by the protocol that they speak: one row for each kind. How a job of each
// can go on after a loss: recoveries.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace charmtree::proto {

enum class ProgramKind : std::uint8_t {
  plain,             // speaks to no launcher; knows nothing of its other processes
  mpi,               // an MPI library that speaks PMI: it cannot be joined again once it has begun
  native,            // of the client library: its barriers leave the lost ones out, and ct_on_loss tells
  charm,             // `crashnode`, or a second table, ends it
  charm_restarting,  // a fault-tolerant build: lost processes are started anew, whatever the policy says
  charm_resizing,    // a build that can shrink and expand
};
inline constexpr std::size_t kProgramKinds = 6;
/// As users know it.
std::string_view name(ProgramKind kind);

struct Abilities {
  /// How one of its processes can be started again: for itself; once all others know; not at all.
  enum class Restartable : std::uint8_t { alone, with_all, never };

  // As of a plain program.
  Restartable restart = Restartable::alone;
  bool shows_life =
      false;  // its processes say something again and again as long as they can: a hung one shows
  bool is_let_go =
      false;  // at the end its processes leave by themselves, and how they exit then does not count
  bool exit_decides = true;  // about a process that has said that it is done, too
  bool counts_pes =
      false;  // a build that is not SMP hangs when it is told to have several PEs in each process
  bool moves_threads = false;  // between processes, which must have the same layout of addresses for that
  bool wants_ipv4 = false;     // its processes find each other by IPv4 alone
  bool may_be_kept = true;     // another root can take the place of a lost one (++keep-alive)
};

/// Of a Charm++ program.
constexpr Abilities charm_abilities(Abilities::Restartable restart, bool may_be_kept) {
  return {.restart = restart,
          .shows_life = true,
          .is_let_go = true,
          .exit_decides = false,
          .counts_pes = true,
          .moves_threads = true,
          .wants_ipv4 = true,
          .may_be_kept = may_be_kept};
}

inline constexpr std::array<Abilities, kProgramKinds> kAbilities = {{
    {},
    {.restart = Abilities::Restartable::never},
    {},
    charm_abilities(Abilities::Restartable::never, true),
    charm_abilities(Abilities::Restartable::with_all, false),
    charm_abilities(Abilities::Restartable::never, false),
}};

constexpr const Abilities& abilities(ProgramKind kind) {
  return kAbilities[static_cast<std::size_t>(kind)];
}

/// In words, where one does not show life.
inline constexpr const char* kSaysNothing =
    "only of Charm++ programs it shows that they hang (++hang-action kill)";

}  // namespace charmtree::proto
