// SPDX-License-Identifier: Apache-2.0
#include "stacks/messages.hpp"

#include "stacks/members.hpp"
#include "tree/wire/message_type.hpp"

namespace charmtree::stacks {

using namespace wire::rows;

static_assert(kMostStackNames * (kMostStackName + 2) +
                  kMostStackGroups * (2 * kMostStackFrames + 10 * wire::kMostGroupRanges + 16) <=
              kMaxStacks);

CT_MESSAGE_TYPE(StacksWanted, down());
// StacksComponent checks for whom the message speaks.
CT_MESSAGE_TYPE(StacksUp, up(nobody).most({kMaxStacks}).uncounted());

}  // namespace charmtree::stacks
