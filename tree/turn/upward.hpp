// SPDX-License-Identifier: Apache-2.0
// What a launcher's own processes have it say to the root.
#pragma once

#include <vector>

#include "tree/wire/messages.hpp"

namespace charmtree::proto {

/// What goes up: facts to be merged and messages to be sent as they are.
struct Upward {
  wire::Facts facts;
  std::vector<wire::Message> messages;
};

}  // namespace charmtree::proto
