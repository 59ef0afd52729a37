// SPDX-License-Identifier: Apache-2.0
// The start-up as a picture for `++timeline FILE`: an SVG with one bar per launcher, cut into its parts and
// placed in tree order (the break-up figure of the multi-level start-up paper, for every launcher), or a
// Chrome trace for chrome://tracing and Perfetto. Pure: a record in, text out.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "charmrun/report/startup_record.hpp"
#include "tree/base/result.hpp"

namespace charmtree {

/// With more launchers than this, neighbours share a row of the SVG, which then shows the slowest of them.
inline constexpr std::size_t kMaxTimelineRows = 1200;

/// A self-contained SVG (no scripts, no links, no fonts of its own).
std::string timeline_svg(const StartupRecord& record);

/// Chrome's trace event format: one process per launcher (pid = host number + 1, the root 0), times in
/// microseconds.
std::string timeline_trace(const StartupRecord& record);

enum class TimelineFormat { svg, trace };

/// By the file's extension: .svg or .json. Anything else is a mistake of the user.
Result<TimelineFormat> timeline_format(std::string_view file);

}  // namespace charmtree
