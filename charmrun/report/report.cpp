// SPDX-License-Identifier: Apache-2.0
#include "charmrun/report/report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

#include "charmrun/report/json_parts.hpp"
#include "tree/base/visible.hpp"

namespace charmtree {
namespace {

constexpr std::size_t kNameWidth = 24;

std::size_t failures(const StartupRecord& record) {
  return static_cast<std::size_t>(
      std::count_if(record.launchers.begin(), record.launchers.end(),
                    [](const auto& launcher) { return !launcher.error.empty(); }));
}

Json launcher_json(const LauncherRecord& launcher) {
  Json marks = Json::object();
  for (std::size_t i = 0; i < kMarkCount; ++i) {
    const auto mark = static_cast<Mark>(i);
    if (launcher.reached(mark)) marks[std::string(name(mark))] = rounded_seconds(launcher.at(mark));
  }
  Json parts = Json::object();
  for (const auto& segment : segments(launcher)) {
    parts[std::string(name(segment.part))] = rounded_seconds(segment.end - segment.begin);
  }
  Json json = {{"host", launcher.host},
               {"name", launcher.name},
               {"parent", launcher.host == kRootLauncher ? Json(nullptr) : Json(launcher.parent)},
               {"level", launcher.level},
               {"processes", launcher.processes},
               {"attempts", launcher.attempts},
               {"marks", std::move(marks)},
               {"parts", std::move(parts)}};
  if (!launcher.error.empty()) json["error"] = launcher.error;
  return json;
}

Json end_json(const EndRecord& end) {
  Json json = {{"status", end.status}};
  if (end.signal != 0) json["signal"] = end.signal;
  json.update(ending_parts(end.why));
  if (end.why.host) json["host"] = *end.why.host;
  if (!end.host.empty()) json["name"] = end.host;
  if (!end.why.last_words.empty()) json["last_words"] = end.why.last_words;
  if (!end.why.stack.empty()) json["stack"] = end.why.stack;
  return json;
}

Json parts_json(const StartupRecord& record) {
  Json json = Json::object();
  const auto times = part_times(record);
  for (std::size_t i = 0; i < kPartCount; ++i) {
    const auto& part = times[i];
    if (part.sorted.empty()) continue;
    json[std::string(name(static_cast<Part>(i)))] = {{"launchers", part.sorted.size()},
                                                     {"median", rounded_seconds(part.median())},
                                                     {"max", rounded_seconds(part.longest)},
                                                     {"slowest_host", part.slowest->host}};
  }
  return json;
}

Json init_json(const StartupRecord& record) {
  if (!record.init) return nullptr;
  return {{"first", rounded_seconds(record.init->first)}, {"all", rounded_seconds(record.init->second)}};
}

Json fences_json(const StartupRecord& record) {
  Json json = Json::array();
  for (const FenceRecord& fence : record.fences) {
    Json one = {{"service", fence.service},
                {"number", fence.number},
                {"processes", fence.processes},
                {"bytes", fence.bytes},
                {"begun", rounded_seconds(fence.begun)},
                {"over", rounded_seconds(fence.over)}};
    if (fence.requests > 0) one["requests"] = fence.requests;
    json.push_back(std::move(one));
  }
  return json;
}

/// A line for each of the first few, behind one for MPI_Init.
std::string fence_lines(const StartupRecord& record) {
  constexpr std::size_t kShown = 8;
  std::string text;
  if (record.init)
    text = fmt::format("  MPI_Init: the first process at {}, all at {}\n", human_time(record.init->first),
                       human_time(record.init->second));
  for (std::size_t i = 0; i < std::min(kShown, record.fences.size()); ++i) {
    const FenceRecord& fence = record.fences[i];
    text += fmt::format("  {} fence {} of {} processes: {} bytes for each host, {} at the root, over at {}",
                        fence.service, fence.number, fence.processes, fence.bytes,
                        human_time(fence.over - fence.begun), human_time(fence.over));
    if (fence.requests > 0)
      text += fmt::format("; {:.1f} requests of each process before it",
                          static_cast<double>(fence.requests) / fence.processes);
    text += '\n';
  }
  if (record.fences.size() > kShown) text += fmt::format("  and {} more\n", record.fences.size() - kShown);
  return text;
}

/// Of clients of the library, which have looked others up or asked them.
std::string peers_line(const StartupRecord& record) {
  if (!record.end || record.end->why.ends.peers().all == 0) return {};
  const wire::PeersUsed& peers = record.end->why.ends.peers();
  const auto or_more = [](std::uint32_t used) { return used == wire::kMostPeersTold ? " or more" : ""; };
  return fmt::format("  peers used: {:.1f}{} of {} by each of {} processes, {}{} at least, {}{} at most\n",
                     static_cast<double>(peers.all) / static_cast<double>(peers.processes),
                     or_more(peers.most), record.processes - 1, peers.processes, peers.least,
                     or_more(peers.least), peers.most, or_more(peers.most));
}

/// `name` cut to `width` columns (bytes), its end kept: hosts differ at the end of their short names.
std::string fitted(std::string_view name, std::size_t width) {
  std::string text = visible(name);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  if (text.size() > width) text = ".." + text.substr(text.size() - width + 2);
  return text;
}

std::string table_row(std::string_view label, const std::array<Duration, kPartCount>& cells, Duration own) {
  std::string row = fmt::format("  {:<{}}", label, kNameWidth);
  for (const Duration cell : cells)
    row += fmt::format("{:>10}", cell == kNotReached ? "-" : human_time(cell));
  return row + fmt::format("{:>10}\n", own == kNotReached ? "-" : human_time(own));
}

std::string launcher_row(const LauncherRecord& launcher) {
  std::array<Duration, kPartCount> cells;
  cells.fill(kNotReached);
  for (const auto& segment : segments(launcher)) {
    cells[static_cast<std::size_t>(segment.part)] = segment.end - segment.begin;
  }
  return table_row(fitted(launcher.name, kNameWidth - 1), cells, own_time(launcher));
}

}  // namespace

std::string human_time(Duration time) {
  const double s = seconds(time);
  if (s < 0.0995) return fmt::format("{:.1f} ms", s * 1e3);
  if (s < 0.9995) return fmt::format("{:.0f} ms", s * 1e3);
  if (s < 9.9995) return fmt::format("{:.3f} s", s);
  if (s < 99.995) return fmt::format("{:.2f} s", s);
  const auto whole = static_cast<std::int64_t>(std::llround(s));
  return fmt::format("{}:{:02} min", whole / 60, whole % 60);
}

std::string headline(const StartupRecord& record) {
  return fmt::format("Start-up of {} host{}, {} process{}: {}", record.hosts, record.hosts == 1 ? "" : "s",
                     record.processes, record.processes == 1 ? "" : "es", human_time(startup_time(record)));
}

std::string subline(const StartupRecord& record) {
  const std::uint32_t depth = levels(record);
  std::string text = fmt::format("{} level{} of launchers", depth, depth == 1 ? "" : "s");
  if (record.branching > 0) text += fmt::format(", {} per launcher", record.branching);
  const LauncherRecord* slowest = nullptr;
  std::uint64_t retries = 0;
  for (const auto& launcher : record.launchers) {
    if (launcher.attempts > 1) retries += launcher.attempts - 1;
    if (launcher.host == kRootLauncher || !launcher.error.empty()) continue;
    if (slowest == nullptr || own_time(launcher) > own_time(*slowest)) slowest = &launcher;
  }
  if (slowest != nullptr && record.launchers.size() > 2) {
    text += fmt::format("; slowest host: {} with {}", visible(slowest->name), human_time(own_time(*slowest)));
  }
  if (retries > 0) text += fmt::format("; {} login{} tried again", retries, retries == 1 ? "" : "s");
  if (failures(record) > 0) text += fmt::format("; {} failed", failures(record));
  return text;
}

std::string report_json(const StartupRecord& record) {
  Json launchers = Json::array();
  for (const LauncherRecord* launcher : in_tree_order(record)) launchers.push_back(launcher_json(*launcher));
  const Json json = {{"format", kReportFormat},
                     {"version", record.version},
                     {"program", record.program},
                     {"hosts", record.hosts},
                     {"processes", record.processes},
                     {"branching", record.branching},
                     {"levels", levels(record)},
                     {"failed", failures(record)},
                     {"startup", rounded_seconds(startup_time(record))},
                     {"wall", record.wall > Duration{0} ? Json(rounded_seconds(record.wall)) : Json(nullptr)},
                     {"ending", record.end ? end_json(*record.end) : Json(nullptr)},
                     {"ends", record.end ? ends_json(record.end->why.ends) : Json(nullptr)},
                     {"parts", parts_json(record)},
                     {"init", init_json(record)},
                     {"fences", fences_json(record)},
                     {"launchers", std::move(launchers)}};
  return json_text(json, 1);
}

std::string report_table(const StartupRecord& record, std::size_t slowest) {
  if (record.launchers.size() == 1) return {};  // this root has launched nothing (++attach)
  std::string text = headline(record) + "\n" + subline(record) + "\n";
  std::string header = fmt::format("  {:<{}}", "", kNameWidth);
  for (std::size_t i = 0; i < kPartCount; ++i) header += fmt::format("{:>10}", name(static_cast<Part>(i)));
  text += header + fmt::format("{:>10}\n", "own time");

  std::array<Duration, kPartCount> medians;
  std::array<Duration, kPartCount> maxima;
  const auto times = part_times(record);
  for (std::size_t i = 0; i < kPartCount; ++i) {
    const bool none = times[i].sorted.empty();
    medians[i] = none ? kNotReached : times[i].median();
    maxima[i] = none ? kNotReached : times[i].longest;
  }
  std::vector<const LauncherRecord*> order = in_tree_order(record);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return own_time(*a) > own_time(*b); });
  std::erase_if(order, [](const auto* launcher) {
    return launcher->host == kRootLauncher || !launcher->error.empty();
  });
  const bool any = !order.empty();
  text += table_row("median", medians, any ? own_time(*order[order.size() / 2]) : kNotReached);
  text += table_row("longest", maxima, any ? own_time(*order.front()) : kNotReached);

  const std::size_t shown = std::min(slowest, order.size());
  if (shown < order.size()) text += fmt::format("  the slowest {} of {}:\n", shown, order.size());
  for (std::size_t i = 0; i < shown; ++i) text += launcher_row(*order[i]);
  return text + fence_lines(record) + peers_line(record);
}

}  // namespace charmtree
