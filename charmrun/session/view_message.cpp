// SPDX-License-Identifier: Apache-2.0
#include "charmrun/session/view_message.hpp"

#include "charmrun/session/session_members.hpp"

namespace charmtree::wire {
CT_MEMBERS(Viewed, s.greeting, s.status)
CT_MEMBERS(ViewWanted, s.which)
}  // namespace charmtree::wire

namespace charmtree {

Result<std::string> encode_view(const ViewMessage& message) {
  return encode_framed(message);
}

Result<std::optional<ViewMessage>> next_view(wire::FrameDecoder& decoder) {
  return next_framed<ViewMessage>(decoder);
}

}  // namespace charmtree
