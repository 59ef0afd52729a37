// SPDX-License-Identifier: Apache-2.0
// Collects what the processes of a host cause: messages for the root, and notices for components.
#pragma once

#include <vector>

#include "tree/turn/turn.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::proto {

struct Upward {
  wire::Facts facts;  // merged with those of other launchers
  std::vector<wire::Message> messages = {};
  std::vector<News> news = {};
};

}  // namespace charmtree::proto
