// SPDX-License-Identifier: Apache-2.0
// What `charmrun ++gdb` and the root of a running job say to each other. The root's first word is DebugJob;
// the first order begins the session, and the end of the connection ends it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "debug/events.hpp"
#include "tree/base/result.hpp"
#include "tree/wire/frame.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree {

struct DebugJob {
  std::string greeting;  // of the root's charmrun, which must be the client's (wire::make_greeting)
  std::uint32_t processes = 0;
};
/// There is no session any more: the run is over.
struct DebugOver {};
using DebugMessage = std::variant<DebugJob, debug::DebugUp, DebugOver, debug::DebugOrder>;

/// One frame. Error bad_input: it is too large.
Result<std::string> encode_debug(const DebugMessage& message);
/// Error bad_peer.
Result<std::optional<DebugMessage>> next_debug(wire::FrameDecoder& decoder);

}  // namespace charmtree
