// SPDX-License-Identifier: Apache-2.0
// What is done when processes or hosts of a job are lost while it runs. Which kinds of programs can have
// which of it: tree/clients/recoveries.hpp.
#pragma once

#include <cstdint>

#include "tree/base/time.hpp"

namespace charmtree::wire {

/// What the user wants (++on-failure).
enum class OnFailure : std::uint8_t { abort, go_on, restart };

/// What the launchers do.
enum class Recovery : std::uint8_t {
  none,        // the job ends
  go_on,       // the others go on without them
  whole,       // the program is started again, as a whole
  in_place,    // lost processes are started again one by one; the program as a whole where they cannot be
  by_program,  // lost processes are started again as a fault-tolerant build of Charm++ asks for it
  by_program_or_whole,  // the same; the program as a whole where they cannot be
};

constexpr bool is_by_program(Recovery recovery) {
  return recovery == Recovery::by_program || recovery == Recovery::by_program_or_whole;
}
constexpr bool may_restart_whole(Recovery recovery) {
  return recovery == Recovery::whole || recovery == Recovery::in_place ||
         recovery == Recovery::by_program_or_whole;
}
/// The launchers below a lost one may be adopted: no process of theirs is started again elsewhere meanwhile.
constexpr bool bears_repair(Recovery recovery) {
  return !is_by_program(recovery) && recovery != Recovery::in_place;
}

/// Processes may have others started: what is done about a loss asks for no single one of them.
constexpr bool bears_growth(Recovery recovery) {
  return recovery == Recovery::none || recovery == Recovery::whole;
}

/// Processes may give values for fences (client library): one that is started again alone would not know how
/// many it has missed.
constexpr bool bears_fences(Recovery recovery) {
  return recovery != Recovery::in_place;
}

struct LossRules {
  Recovery recovery = Recovery::none;
  std::uint32_t restarts = 0;  // so often the program has been started again, as a whole
  Duration keep_alive{
      0};  // so long the tree waits for another root when it loses its own (DESIGN D26); 0: it does not
  friend bool operator==(const LossRules&, const LossRules&) = default;
};

}  // namespace charmtree::wire
