// SPDX-License-Identifier: Apache-2.0
// What who runs tools beside the processes of a job (`charmrun ++exec`, ++dap) and its root say to each
// other. The root's first word is ToolJob; the first order begins the session, and the end of the connection
// ends it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "charmrun/debug/mpir.hpp"
#include "debug/events.hpp"
#include "tree/base/result.hpp"
#include "tree/wire/frame.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree {

struct ToolJob {
  std::string greeting;  // of the root's charmrun, which must be the client's (wire::make_greeting)
  std::uint32_t processes = 0;
};
/// The client's: on which hosts are these? Answer ToolPlaces.
struct ToolWhere {
  std::vector<wire::ProcessSet::Range> which;
};
/// As Mpir::places_of has them. The tool of a host is named by that process.
struct ToolPlaces {
  std::vector<ProcessPlace> places;
};
/// There is no session any more: the run is over.
struct ToolOver {};
using ToolMessage = std::variant<ToolJob, ToolPlaces, debug::ToolSaid, ToolOver, ToolWhere, debug::ToolOrder>;

/// One frame. Error bad_input: it is too large.
Result<std::string> encode_tool(const ToolMessage& message);
/// Error bad_peer.
Result<std::optional<ToolMessage>> next_tool(wire::FrameDecoder& decoder);

}  // namespace charmtree
