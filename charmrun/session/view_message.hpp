// SPDX-License-Identifier: Apache-2.0
// What the root of a running job tells those who look at it (`charmrun ++view`), once they have said of which
// processes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "charmrun/session/session_message.hpp"
#include "tree/base/result.hpp"
#include "tree/wire/frame.hpp"
#include "tree/wire/process_set.hpp"

namespace charmtree {

/// The first word.
struct Viewed {
  std::string greeting;  // of the root's charmrun, which must be the viewer's (wire::make_greeting)
  std::string status;    // as ++status has it (status_json)
};
/// The viewer's only word: the output of these, or, if it names none, of all.
struct ViewWanted {
  std::vector<wire::ProcessSet::Range> which;
};
/// Of a job, Over is the last word.
using ViewMessage = std::variant<Viewed, session::Said, session::ToShow, session::Over, ViewWanted>;

/// One frame. Error bad_input: it is too large.
Result<std::string> encode_view(const ViewMessage& message);
/// Error bad_peer.
Result<std::optional<ViewMessage>> next_view(wire::FrameDecoder& decoder);

}  // namespace charmtree
