// SPDX-License-Identifier: Apache-2.0
#include "charmrun/report/timeline.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

#include "charmrun/report/json_parts.hpp"
#include "tree/base/visible.hpp"

namespace charmtree {
namespace {

double microseconds(Duration time) {
  return std::round(seconds(time) * 1e9) / 1e3;
}

/// Viewers sort processes by a number of their own and show a name: both are metadata events.
void append_names(Json& events, const LauncherRecord& launcher, std::size_t row) {
  const std::int32_t pid = launcher.host + 1;
  const std::string label =
      launcher.host == kRootLauncher
          ? "root launcher"
          : fmt::format("{} (host {}, level {})", launcher.name, launcher.host, launcher.level);
  events.push_back({{"name", "process_name"}, {"ph", "M"}, {"pid", pid}, {"args", {{"name", label}}}});
  events.push_back(
      {{"name", "process_sort_index"}, {"ph", "M"}, {"pid", pid}, {"args", {{"sort_index", row}}}});
}

void append_parts(Json& events, const LauncherRecord& launcher) {
  const std::int32_t pid = launcher.host + 1;
  for (const auto& segment : segments(launcher)) {
    events.push_back({{"name", name(segment.part)},
                      {"cat", "startup"},
                      {"ph", "X"},
                      {"ts", microseconds(segment.begin)},
                      {"dur", microseconds(segment.end - segment.begin)},
                      {"pid", pid},
                      {"tid", 0}});
  }
  if (launcher.error.empty()) return;
  events.push_back({{"name", "failed"},
                    {"cat", "startup"},
                    {"ph", "i"},
                    {"s", "p"},
                    {"ts", microseconds(last_mark(launcher))},
                    {"pid", pid},
                    {"tid", 0},
                    {"args", {{"error", launcher.error}}}});
}

}  // namespace

std::string timeline_trace(const StartupRecord& record) {
  Json events = Json::array();
  std::size_t row = 0;
  for (const LauncherRecord* launcher : in_tree_order(record)) {
    append_names(events, *launcher, row++);
    append_parts(events, *launcher);
  }
  const Json json = {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
  return json_text(json);
}

Result<TimelineFormat> timeline_format(std::string_view file) {
  if (file.ends_with(".svg")) return TimelineFormat::svg;
  if (file.ends_with(".json")) return TimelineFormat::trace;
  return Error{Errc::bad_input, Phase::options,
               fmt::format("++timeline {}: unknown kind of file", visible(file)),
               "use a name that ends in .svg (picture) or .json (Chrome trace)"};
}

}  // namespace charmtree
