// SPDX-License-Identifier: Apache-2.0
// The members of the messages in input/messages.hpp, in the order in which they travel. A change is another
// protocol (kProtocol in tree/wire/greeting.cpp).
#pragma once

#include "input/messages.hpp"
#include "tree/wire/describe.hpp"
#include "tree/wire/window_members.hpp"

namespace charmtree::wire {

CT_MEMBERS(input::Input, s.bytes, s.end)
CT_MEMBERS(input::RecallInput, )
CT_MEMBERS(input::Resize, s.size)
CT_MEMBERS(input::InputTaken, s.bytes)
CT_MEMBERS(input::InputReturned, s.bytes)

}  // namespace charmtree::wire
