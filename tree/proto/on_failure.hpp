// SPDX-License-Identifier: Apache-2.0
// What a program can do when some of its processes are lost or hang, by the protocol that it speaks. The
// README ("When something dies", "When a process hangs") has the same tables for users.
#pragma once

#include <cstdint>

#include "tree/wire/messages.hpp"

namespace charmtree::proto {

enum class ProgramKind : std::uint8_t {
  plain,             // speaks to no launcher; knows nothing of its other processes
  native,            // of the client library: its barriers leave the lost ones out, and ct_on_loss tells
  charm,             // `crashnode`, or a second table, ends it
  charm_restarting,  // a fault-tolerant build: lost processes are started anew, whatever the policy says
};

/// Whether a job of such a program can be run by this policy.
constexpr bool can(ProgramKind kind, wire::OnFailure policy) {
  switch (policy) {
    case wire::OnFailure::abort:
      return true;
    case wire::OnFailure::go_on:
      return kind != ProgramKind::charm;
    case wire::OnFailure::restart:
      return true;
  }
  return false;
}

/// Whether its processes say something again and again as long as they can, so that a hung one shows.
constexpr bool shows_life(ProgramKind kind) {
  return kind == ProgramKind::charm || kind == ProgramKind::charm_restarting;
}

/// In words, where it cannot.
inline constexpr const char* kCharmCannotGoOn =
    "a Charm++ program cannot go on without a lost process (++on-failure continue)";
inline constexpr const char* kSaysNothing =
    "only of Charm++ programs it shows that they hang (++hang-action kill)";

}  // namespace charmtree::proto
