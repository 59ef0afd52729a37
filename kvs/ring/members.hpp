// SPDX-License-Identifier: Apache-2.0
// The members of the messages in kvs/ring/messages.hpp, in the order in which they travel. A change is
// another protocol (kProtocol in tree/wire/greeting.cpp).
#pragma once

#include "kvs/ring/messages.hpp"
#include "tree/wire/describe.hpp"

namespace charmtree::wire {

CT_MEMBERS(RingRun, s.first, s.last, s.head, s.tail)
CT_MEMBERS(RingEnds, s.first, s.left, s.right)
CT_MEMBERS(kvs::RingDown, s.number, s.epoch, s.ends)
CT_MEMBERS(kvs::RingUp, s.number, s.epoch, s.runs)

}  // namespace charmtree::wire
