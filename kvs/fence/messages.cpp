// SPDX-License-Identifier: Apache-2.0
#include "kvs/fence/messages.hpp"

#include "kvs/fence/members.hpp"
#include "tree/wire/message_type.hpp"

namespace charmtree::kvs {

using namespace wire::rows;

CT_MESSAGE_TYPE(FenceDown, down());
// FenceComponent checks for whom the message speaks.
CT_MESSAGE_TYPE(FenceUp, up(nobody).most({wire::kMaxSaid, 0, wire::kMostGiven}).uncounted());

}  // namespace charmtree::kvs
