// SPDX-License-Identifier: Apache-2.0
// The messages of the service `tools` (++exec, ++dap). The first one is ToolJob; the client's first order
// begins the session, and the end of the connection ends it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "charmrun/debug/mpir.hpp"
#include "debug/events.hpp"
#include "tree/base/result.hpp"
#include "tree/wire/frame.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::control {

inline constexpr std::string_view kToolService = "tools";

struct ToolJob {
  std::uint32_t processes = 0;
};
/// The client's query for the hosts of these processes. The answer is ToolPlaces.
struct ToolWhere {
  std::vector<wire::ProcessSet::Range> which;
};
/// The hosts of processes, see Mpir::places_of. The tool of a host has the number of that process.
struct ToolPlaces {
  std::vector<ProcessPlace> places;
};
/// The session is over, because the run is.
struct ToolOver {};
using ToolMessage = std::variant<ToolJob, ToolPlaces, debug::ToolSaid, ToolOver, ToolWhere, debug::ToolOrder>;

/// Error bad_input: the message is larger than a frame may be.
Result<std::string> encode(const ToolMessage& message);
bool decode(const wire::Frame& frame, ToolMessage& message);

}  // namespace charmtree::control
