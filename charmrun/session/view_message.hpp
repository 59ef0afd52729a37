// SPDX-License-Identifier: Apache-2.0
// What the root of a running job tells those who look at it (`charmrun ++view`). They say nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "charmrun/session/session_message.hpp"
#include "tree/base/result.hpp"
#include "tree/wire/frame.hpp"

namespace charmtree {

/// The first word.
struct Viewed {
  std::string greeting;  // of the root's charmrun, which must be the viewer's (wire::make_greeting)
  std::string status;    // as ++status has it (status_json)
};
/// Of a job, Over is the last word.
using ViewMessage = std::variant<Viewed, session::Said, session::ToShow, session::Over>;

/// One frame. Error bad_input: it is too large.
Result<std::string> encode_view(const ViewMessage& message);
/// Error bad_peer.
Result<std::optional<ViewMessage>> next_view(wire::FrameDecoder& decoder);

}  // namespace charmtree
