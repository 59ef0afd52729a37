// SPDX-License-Identifier: Apache-2.0
// The messages of the ring service. Only kvs/ring sends and handles them.
#pragma once

#include <cstdint>
#include <vector>

#include "tree/wire/message.hpp"
#include "tree/wire/ring_runs.hpp"

namespace charmtree::kvs {

/// The ring with that number is over: the neighbours of each run that the child has sent.
struct RingDown {
  CT_MESSAGE(down, 37);
  std::uint32_t number = 0, epoch = 0;  // number: from 1
  std::vector<wire::RingEnds> ends;
};

/// All processes of the launcher's host and below have entered the ring.
struct RingUp {
  CT_MESSAGE(up, 80);
  std::uint32_t number = 0, epoch = 0;
  std::vector<wire::RingRun> runs;  // as long as possible; they rise
};
inline bool is_sound(const RingUp& ring) {
  return ring.number > 0 && wire::are_sound(ring.runs);
}

}  // namespace charmtree::kvs
