// SPDX-License-Identifier: Apache-2.0
// Processes that say nothing to their launcher though they should (DESIGN D25).
#pragma once

#include <cstdint>

#include "tree/base/time.hpp"
#include "tree/wire/message.hpp"

namespace charmtree::wire {

/// What is done about them (++hang-after, ++hang-action).
struct SilenceRules {
  Duration after{0};   // so long is none; 0: nobody is watched
  bool kills = false;  // else it is only told
  friend bool operator==(const SilenceRules&, const SilenceRules&) = default;
};

/// Up: a process is silent, or is so no more.
struct Silence {
  CT_MESSAGE(to_root, 78);
  enum class State : std::uint8_t {
    hung,     // it runs, and may be computing
    stopped,  // by a signal
    over,     // it has said something again
  };
  std::uint32_t process = 0;
  State state = State::hung;
  Duration lasted{0};
  friend bool operator==(const Silence&, const Silence&) = default;
};

}  // namespace charmtree::wire
