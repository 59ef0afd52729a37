// SPDX-License-Identifier: Apache-2.0
#include "charmrun/control/tool_message.hpp"

#include "charmrun/control/framing.hpp"
#include "debug/members.hpp"
#include "tree/wire/message_members.hpp"

namespace charmtree::wire {
CT_MEMBERS(control::ToolJob, s.processes)
CT_MEMBERS(control::ToolWhere, s.which)
CT_MEMBERS(ProcessPlace, s.process, s.host, s.pid)
CT_MEMBERS(control::ToolPlaces, s.places)
CT_MEMBERS(control::ToolOver, )
}  // namespace charmtree::wire

namespace charmtree::control {

Result<std::string> encode(const ToolMessage& message) {
  return encode_message(message);
}

bool decode(const wire::Frame& frame, ToolMessage& message) {
  return decode_message(frame, message);
}

}  // namespace charmtree::control
