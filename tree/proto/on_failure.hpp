// SPDX-License-Identifier: Apache-2.0
// What a program can do when some of its processes are lost, by the protocol that it speaks. The README
// ("When something dies") has the same table for users.
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

/// In words, where it cannot.
inline constexpr const char* kCharmCannotGoOn =
    "a Charm++ program cannot go on without a lost process (++on-failure continue)";

}  // namespace charmtree::proto
