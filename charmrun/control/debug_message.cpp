// SPDX-License-Identifier: Apache-2.0
#include "charmrun/control/debug_message.hpp"

#include "charmrun/control/framing.hpp"
#include "debug/members.hpp"
#include "tree/wire/message_members.hpp"

namespace charmtree::wire {
CT_MEMBERS(control::DebugJob, s.processes)
CT_MEMBERS(control::DebugOver, )
}  // namespace charmtree::wire

namespace charmtree::control {

Result<std::string> encode(const DebugMessage& message) {
  return encode_message(message);
}

bool decode(const wire::Frame& frame, DebugMessage& message) {
  return decode_message(frame, message);
}

}  // namespace charmtree::control
