// SPDX-License-Identifier: Apache-2.0
// The members of the messages in kvs/fence/messages.hpp, in the order in which they travel. A change is
// another protocol (kProtocol in tree/wire/greeting.cpp).
#pragma once

#include "kvs/fence/messages.hpp"
#include "tree/wire/describe.hpp"
#include "tree/wire/table_members.hpp"

namespace charmtree::wire {

CT_MEMBERS(Fence, s.protocol, s.processes, s.number, s.name)
CT_MEMBERS(kvs::FenceDown, s.fence, s.failure, s.given, s.offset, s.more)
CT_MEMBERS(kvs::FenceUp, s.fence, s.epoch, s.processes, s.given, s.requests)

}  // namespace charmtree::wire
