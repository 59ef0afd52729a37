// SPDX-License-Identifier: Apache-2.0
// The start-up report as text: JSON for `++report FILE` (schema in docs/manual/report.md) and a table for
// `++verbose`. Pure: a record in, text out; who writes it to a file is not known here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "charmrun/report/startup_record.hpp"

namespace charmtree {

/// Name of the report's format, its first member. Members may be added under the same name, never renamed or
/// removed.
inline constexpr std::string_view kReportFormat = "charmtree-startup-1";

/// Launchers listed one by one in the table; the others are in its medians only.
inline constexpr std::size_t kSlowestShown = 20;

/// The JSON document, ending in a newline. Times are seconds to the microsecond; marks that were not reached
/// are absent.
std::string report_json(const StartupRecord& record);

/// Lines for a terminal (no colours, at most 100 columns, each ending in a newline): totals, medians and
/// maxima of each part, and the `slowest` launchers by own_time, without those that failed. Names are made
/// safe to print.
std::string report_table(const StartupRecord& record, std::size_t slowest = kSlowestShown);

/// "12.3 ms", "1.234 s", "2:05 min".
std::string human_time(Duration time);

/// "Start-up of 64 hosts, 256 processes: 1.234 s", and the shape of the tree and the failures in a second
/// line.
std::string headline(const StartupRecord& record);
std::string subline(const StartupRecord& record);

}  // namespace charmtree
