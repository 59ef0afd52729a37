// SPDX-License-Identifier: Apache-2.0
// The members of the messages in stacks/messages.hpp, in the order in which they travel. A change is another
// protocol (kProtocol in tree/wire/greeting.cpp).
#pragma once

#include "stacks/messages.hpp"
#include "tree/wire/describe.hpp"
#include "tree/wire/table_members.hpp"

namespace charmtree::wire {

template <>
inline constexpr stacks::Motion kLast<stacks::Motion> = stacks::Motion::unread;
template <>
inline constexpr std::uint64_t kMostElements<stacks::Stacks> = stacks::kMostStackNames;
template <>
inline constexpr std::uint64_t kMostElements<stacks::StackGroup> = stacks::kMostStackFrames;

CT_MEMBERS(stacks::StacksWanted, s.number, s.raw, s.crashed, s.within)
CT_MEMBERS(stacks::StackGroup, s.frames, s.motion, s.processes, s.which)
CT_MEMBERS(stacks::Stacks, s.names, s.groups)
CT_MEMBERS(stacks::StacksUp, s.number, s.stacks)

}  // namespace charmtree::wire
