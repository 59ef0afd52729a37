// SPDX-License-Identifier: Apache-2.0
// What programs can do and bear, by the protocol that they speak: one row for each kind. For users
// docs/manual/failures.md has the same tables.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tree/wire/messages.hpp"

namespace charmtree::proto {

enum class ProgramKind : std::uint8_t {
  plain,             // speaks to no launcher; knows nothing of its other processes
  native,            // of the client library: its barriers leave the lost ones out, and ct_on_loss tells
  charm,             // `crashnode`, or a second table, ends it
  charm_restarting,  // a fault-tolerant build: lost processes are started anew, whatever the policy says
};

struct Abilities {
  /// How one of its processes can be started again: for itself; once all others know; not at all.
  enum class Restart : std::uint8_t { alone, with_all, never };

  bool goes_on;  // without lost processes (++on-failure continue)
  Restart restart;
  bool shows_life;     // its processes say something again and again as long as they can: a hung one shows
  bool is_let_go;      // at the end its processes leave by themselves, and how they exit then does not count
  bool exit_decides;   // about a process that has said that it is done, too
  bool counts_pes;     // a build that is not SMP hangs when it is told to have several PEs in each process
  bool moves_threads;  // between processes, which must have the same layout of addresses for that
};

inline constexpr std::array<Abilities, 4> kAbilities = {{
    {.goes_on = true,
     .restart = Abilities::Restart::alone,
     .shows_life = false,
     .is_let_go = false,
     .exit_decides = true,
     .counts_pes = false,
     .moves_threads = false},
    {.goes_on = true,
     .restart = Abilities::Restart::alone,
     .shows_life = false,
     .is_let_go = false,
     .exit_decides = true,
     .counts_pes = false,
     .moves_threads = false},
    {.goes_on = false,
     .restart = Abilities::Restart::never,
     .shows_life = true,
     .is_let_go = true,
     .exit_decides = false,
     .counts_pes = true,
     .moves_threads = true},
    {.goes_on = true,
     .restart = Abilities::Restart::with_all,
     .shows_life = true,
     .is_let_go = true,
     .exit_decides = false,
     .counts_pes = true,
     .moves_threads = true},
}};

constexpr const Abilities& abilities(ProgramKind kind) {
  return kAbilities[static_cast<std::size_t>(kind)];
}

/// Whether a job of such a program can be run by this policy.
constexpr bool can(ProgramKind kind, wire::OnFailure policy) {
  return policy != wire::OnFailure::go_on || abilities(kind).goes_on;
}

/// In words, where it cannot.
inline constexpr const char* kCharmCannotGoOn =
    "a Charm++ program cannot go on without a lost process (++on-failure continue)";
inline constexpr const char* kSaysNothing =
    "only of Charm++ programs it shows that they hang (++hang-action kill)";

}  // namespace charmtree::proto
