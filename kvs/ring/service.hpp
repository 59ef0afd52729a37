// SPDX-License-Identifier: Apache-2.0
// The ring service: each process of the job gets the contributions of its two neighbours by number.
#pragma once

#include "kvs/ring/component.hpp"
#include "kvs/ring/messages.hpp"

namespace charmtree::kvs {

struct RingService {
  using Messages = wire::MessageList<RingUp, RingDown>;
  using Launcher = RingComponent;
};

}  // namespace charmtree::kvs
