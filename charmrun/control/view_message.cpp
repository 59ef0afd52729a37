// SPDX-License-Identifier: Apache-2.0
#include "charmrun/control/view_message.hpp"

#include "charmrun/control/framing.hpp"
#include "charmrun/control/shown_members.hpp"

namespace charmtree::wire {
CT_MEMBERS(control::ViewJob, s.status)
CT_MEMBERS(control::ViewRequest, s.which)
CT_MEMBERS(control::ViewOver, s.status)
}  // namespace charmtree::wire

namespace charmtree::control {

Result<std::string> encode(const ViewMessage& message) {
  return encode_message(message);
}

bool decode(const wire::Frame& frame, ViewMessage& message) {
  return decode_message(frame, message);
}

}  // namespace charmtree::control
