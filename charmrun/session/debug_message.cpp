// SPDX-License-Identifier: Apache-2.0
#include "charmrun/session/debug_message.hpp"

#include "charmrun/session/framed.hpp"
#include "debug/members.hpp"
#include "tree/wire/message_members.hpp"

namespace charmtree::wire {
CT_MEMBERS(DebugJob, s.greeting, s.processes)
CT_MEMBERS(DebugOver, )
}  // namespace charmtree::wire

namespace charmtree {

Result<std::string> encode_debug(const DebugMessage& message) {
  return encode_framed(message);
}

Result<std::optional<DebugMessage>> next_debug(wire::FrameDecoder& decoder) {
  return next_framed<DebugMessage>(decoder);
}

}  // namespace charmtree
