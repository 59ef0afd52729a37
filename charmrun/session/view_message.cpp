// SPDX-License-Identifier: Apache-2.0
#include "charmrun/session/view_message.hpp"

#include <fmt/format.h>

#include "charmrun/session/session_members.hpp"

namespace charmtree::wire {
CT_MEMBERS(Viewed, s.greeting, s.status)
}  // namespace charmtree::wire

namespace charmtree {

Result<std::string> encode_view(const ViewMessage& message) {
  return encode_framed(message);
}

Result<std::optional<ViewMessage>> next_view(wire::FrameDecoder& decoder) {
  return next_framed<ViewMessage>(decoder);
}

std::string view_socket(const std::string& job, std::uint32_t user) {
  return fmt::format("@charmtree-view-{}-{}", user, job);
}

}  // namespace charmtree
