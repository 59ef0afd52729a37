// SPDX-License-Identifier: Apache-2.0
// The events and actions of the stack service.
#pragma once

#include <cstdint>

#include "stacks/messages.hpp"
#include "tree/base/time.hpp"
#include "tree/turn/event.hpp"

namespace charmtree::stacks {

using proto::Action;
using proto::Event;

/// The reason for a request.
struct StacksFor {
  enum class Why : std::uint8_t {
    asked,       // a client asked for it; `ticket` is its number in the shell
    quit,        // SIGQUIT
    hang,        // processes do not serve their sockets
    time_limit,  // the job has reached its time limit
    crash,       // the job ends because a process has crashed; the end waits for the result
  };
  Why why = Why::asked;
  std::uint64_t ticket = 0;
};

// ---- events

/// Answers ReadStacks. Processes that have ended are in none of the stacks, except those that have crashed.
struct StacksRead {
  using Family = Event;
  std::uint32_t number;
  Stacks stacks;
};
/// Root: requests the stacks of all processes; the answer is StacksSeen.
struct StacksAsked {
  using Family = Event;
  StacksFor asker;
  bool raw = false;  // with all frames
};

// ---- actions

/// Read the stacks of this host's processes that have been started and have not ended, within this time. The
/// members are those of StacksWanted; the answer is StacksRead.
struct ReadStacks {
  using Family = Action;
  std::uint32_t number;
  bool raw, crashed;
  Duration within;
};
/// Root: the stacks of all processes.
struct StacksSeen {
  using Family = Action;
  StacksFor asker;
  Stacks stacks;
};

}  // namespace charmtree::stacks
