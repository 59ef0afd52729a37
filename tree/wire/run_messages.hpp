// SPDX-License-Identifier: Apache-2.0
// Messages between launchers of a job whose program is run more than once over the same tree (DESIGN D22).
#pragma once

#include <cstdint>
#include <vector>

#include "tree/wire/message.hpp"
#include "tree/wire/node_table.hpp"

namespace charmtree::wire {

// ---- down: parent to child

/// Everybody below has answered Idle: the next run begins, by this description of the job. Hosts keep their
/// processes, unless the job is numbered late.
struct Relaunch {
  CT_MESSAGE(down, 34);
  Blob job;
};

// ---- up: child to parent

/// Nothing of this run is left on this host or below it, but where that is not confirmed, and its output has
/// been sent. Again when a launcher below is lost after that.
struct Idle {
  CT_MESSAGE(up, 75);
  std::vector<std::uint32_t> unconfirmed;  // hosts; their clean-up goes on
  std::vector<std::uint32_t> unbounded;  // those of them where no launcher need ever notice that it is alone
};
/// Behind Idle: nothing is left on these hosts either, of which that was not confirmed.
struct Confirmed {
  CT_MESSAGE(up, 76);
  std::vector<std::uint32_t> hosts;
};

}  // namespace charmtree::wire
