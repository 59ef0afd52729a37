// SPDX-License-Identifier: Apache-2.0
// Events and actions in words, for the simulator's log.
#pragma once

#include <string>

#include "tree/proto/events.hpp"

namespace charmtree::sim {

std::string describe(const proto::Event& event);
std::string describe(const proto::Action& action);

}  // namespace charmtree::sim
