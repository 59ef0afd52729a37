// SPDX-License-Identifier: Apache-2.0
// The messages of the service `view` (++view). The first one is ViewJob; the client answers with ViewRequest,
// and gets recent output, then live output, and at the end of the job ViewOver. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "charmrun/control/shown.hpp"
#include "tree/base/result.hpp"
#include "tree/wire/frame.hpp"
#include "tree/wire/process_set.hpp"

namespace charmtree::control {

inline constexpr std::string_view kViewService = "view";

struct ViewJob {
  std::string status;  // see status_json
};
/// The client's only message: the processes whose output it wants; none: all.
struct ViewRequest {
  std::vector<wire::ProcessSet::Range> which;
};
/// The job has ended.
struct ViewOver {
  std::uint8_t status = 0;  // with which charmrun exits
};
using ViewMessage = std::variant<ViewJob, Line, Printed, ViewOver, ViewRequest>;

/// Error bad_input: the message is larger than a frame may be.
Result<std::string> encode(const ViewMessage& message);
bool decode(const wire::Frame& frame, ViewMessage& message);

}  // namespace charmtree::control
