// SPDX-License-Identifier: Apache-2.0
// The stack service: reads the stacks of all processes of the job.
#pragma once

#include "stacks/component.hpp"
#include "stacks/events.hpp"
#include "stacks/messages.hpp"
#include "stacks/root.hpp"

namespace charmtree::stacks {

struct StacksService {
  using Messages = wire::MessageList<StacksUp, StacksWanted>;
  using Events = TypeList<StacksRead, StacksAsked>;
  using Actions = TypeList<ReadStacks, StacksSeen>;
  using Launcher = StacksComponent;
  using Root = StacksRoot;
};

}  // namespace charmtree::stacks
