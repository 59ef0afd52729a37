// SPDX-License-Identifier: Apache-2.0
#include "debug/messages.hpp"

#include "debug/members.hpp"
#include "debug/tool_messages.hpp"
#include "tree/wire/message_type.hpp"

namespace charmtree::debug {

using namespace wire::rows;

static_assert(kMostDebugTexts +
                  kMostDebugAnswers * (10 * wire::kMostGroupRanges + 4 * kMostDebugSpans + 32) <=
              kMaxDebug);

CT_MESSAGE_TYPE(DebugOrder, down());
// DebugComponent checks for whom the message speaks.
CT_MESSAGE_TYPE(DebugUp, up(nobody).most({kMaxDebug}).uncounted());

CT_MESSAGE_TYPE(ToolOrder, down());
CT_MESSAGE_TYPE(ToolSaid, up(process_once<&ToolSaid::which>).most(wire::rows::kNumbers).uncounted());

}  // namespace charmtree::debug
