// SPDX-License-Identifier: Apache-2.0
// Events and actions in words, for the simulator's log, and as numbers for its traces.
#pragma once

#include <cstdint>
#include <string>

#include "tree/turn/events.hpp"

namespace charmtree::sim {

std::string describe(const proto::Event& event);
std::string describe(const proto::Action& action);
/// A hash of its type's name: another order of the alternatives is no other trace.
std::uint64_t mark(const proto::Event& event);
std::uint64_t mark(const proto::Action& action);
std::uint64_t mark(const wire::Message& message);

}  // namespace charmtree::sim
