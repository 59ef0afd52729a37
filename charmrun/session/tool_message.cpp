// SPDX-License-Identifier: Apache-2.0
#include "charmrun/session/tool_message.hpp"

#include "charmrun/session/framed.hpp"
#include "debug/members.hpp"
#include "tree/wire/message_members.hpp"

namespace charmtree::wire {
CT_MEMBERS(ToolJob, s.greeting, s.processes)
CT_MEMBERS(ToolWhere, s.which)
CT_MEMBERS(ProcessPlace, s.process, s.host, s.pid)
CT_MEMBERS(ToolPlaces, s.places)
CT_MEMBERS(ToolOver, )
}  // namespace charmtree::wire

namespace charmtree {

Result<std::string> encode_tool(const ToolMessage& message) {
  return encode_framed(message);
}

Result<std::optional<ToolMessage>> next_tool(wire::FrameDecoder& decoder) {
  return next_framed<ToolMessage>(decoder);
}

}  // namespace charmtree
