// SPDX-License-Identifier: Apache-2.0
// The fence service: carries fences of processes (PMI, PMIx, client library) through the tree.
#pragma once

#include "kvs/fence/component.hpp"
#include "kvs/fence/messages.hpp"

namespace charmtree::kvs {

struct FenceService {
  using Messages = wire::MessageList<FenceUp, FenceDown>;
  using Launcher = FenceComponent;
};

}  // namespace charmtree::kvs
