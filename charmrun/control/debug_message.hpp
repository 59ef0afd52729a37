// SPDX-License-Identifier: Apache-2.0
// The messages of the service `debug` (++gdb). The first one is DebugJob; the client's first order begins the
// session, and the end of the connection ends it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "debug/events.hpp"
#include "tree/base/result.hpp"
#include "tree/wire/frame.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::control {

inline constexpr std::string_view kDebugService = "debug";

struct DebugJob {
  std::uint32_t processes = 0;
};
/// The session is over, because the run is.
struct DebugOver {};
using DebugMessage = std::variant<DebugJob, debug::DebugUp, DebugOver, debug::DebugOrder>;

/// Error bad_input: the message is larger than a frame may be.
Result<std::string> encode(const DebugMessage& message);
bool decode(const wire::Frame& frame, DebugMessage& message);

}  // namespace charmtree::control
