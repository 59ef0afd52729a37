// SPDX-License-Identifier: Apache-2.0
#include "kvs/ring/messages.hpp"

#include "kvs/ring/members.hpp"
#include "tree/wire/message_type.hpp"

namespace charmtree::kvs {

using namespace wire::rows;

CT_MESSAGE_TYPE(RingDown, down());
// RingComponent checks for whom the message speaks.
CT_MESSAGE_TYPE(RingUp, up(nobody).most({wire::kMaxSaid, 0, 2 * wire::kMostRingValue + 16}).uncounted());

}  // namespace charmtree::kvs
