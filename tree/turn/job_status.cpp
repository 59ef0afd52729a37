// SPDX-License-Identifier: Apache-2.0
#include "tree/turn/job_status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "tree/wire/fold.hpp"
#include "tree/wire/process_set.hpp"

namespace charmtree::proto {

std::string_view name(Stage stage) {
  static constexpr std::array<std::string_view, 4> kNames = {"launch", "start", "run", "end"};
  return kNames[static_cast<std::size_t>(stage)];
}

namespace {

std::string count(std::uint32_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : what.ends_with('s') ? "es" : "s");
}

std::string hosts_up(const JobStatus& status) {
  std::string text = fmt::format("{} of {} are up", status.hosts_up, count(status.hosts, "host"));
  if (status.hosts_failed > 0) text += fmt::format(", {} failed", status.hosts_failed);
  return text;
}

}  // namespace

std::string summary(const JobStatus& status) {
  std::string text = fmt::format("{}: ", name(status.stage));
  const std::string processes = count(status.processes, "process");
  switch (status.stage) {
    case Stage::launch:
      text += hosts_up(status);
      if (status.staged < 100) text += fmt::format(", {}% of its files sent", status.staged);
      break;
    case Stage::start:
      text += fmt::format("{} of {} have registered", status.registered, processes);
      break;
    case Stage::run:
    case Stage::end:
      text += fmt::format("{} on {}", processes, count(status.hosts, "host"));
      if (status.ended > 0) text += fmt::format(", {} ended", status.ended);
      if (status.lost > 0) text += fmt::format(" ({} lost)", status.lost);
      if (status.silent > 0) text += fmt::format(", {} silent", status.silent);
      if (status.hosts_up < status.hosts) text += fmt::format("; {}", hosts_up(status));
  }
  if (!status.late.empty()) text += "; not yet: " + wire::fold_names(status.late);
  return text;
}

namespace {

/// What the hosts have now from which or to which processes have been moved.
std::map<std::uint32_t, wire::ProcessSet> changed_hosts(const std::vector<Host>& hosts,
                                                        const wire::MovedProcesses& moved) {
  std::map<std::uint32_t, wire::ProcessSet> changed;
  for (const auto& [process, places] : moved) {
    if (const Host* first = host_of(hosts, process)) changed[first->index];
    changed[places.back()].add(process);
  }
  for (auto& [index, processes] : changed) {
    if (index >= hosts.size()) continue;
    for (std::uint32_t i = 0; i < hosts[index].processes; ++i) {
      const std::uint32_t process = hosts[index].first_process + i;
      if (!moved.host_of(process)) processes.add(process);
    }
  }
  return changed;
}

}  // namespace

std::vector<std::string> placement_lines(const std::vector<Host>& hosts, const wire::MovedProcesses& moved) {
  const std::map<std::uint32_t, wire::ProcessSet> changed = changed_hosts(hosts, moved);
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < hosts.size();) {
    const Host& first = hosts[i];
    if (const auto now = changed.find(first.index); now != changed.end()) {
      const wire::ProcessSet& processes = now->second;
      if (!processes.empty())
        lines.push_back(fmt::format("{}: {} {}", first.name, processes.size() == 1 ? "process" : "processes",
                                    processes.print()));
      ++i;
      continue;
    }
    std::vector<std::string> names;
    for (; i < hosts.size() && hosts[i].processes == first.processes && !changed.contains(hosts[i].index);
         ++i)
      names.push_back(hosts[i].name);
    if (first.processes == 0) continue;
    const auto all = static_cast<std::uint32_t>(names.size()) * first.processes;
    std::string line = fmt::format("{}: ", wire::fold_names(names));
    line += all == 1 ? fmt::format("process {}", first.first_process)
                     : fmt::format("processes {}-{}", first.first_process, first.first_process + all - 1);
    if (names.size() > 1) line += fmt::format(", {} on each", first.processes);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> status_lines(const JobStatus& status, const std::vector<Host>& hosts) {
  std::vector<std::string> lines{summary(status)};
  if (status.stage == Stage::launch) return lines;
  const std::vector<std::string> rows = placement_lines(hosts, status.moved);
  for (std::size_t i = 0; i < std::min(rows.size(), kMostRows); ++i) lines.push_back("  " + rows[i]);
  if (rows.size() > kMostRows)
    lines.push_back(fmt::format("  and {} more such rows; see charmrun ++status", rows.size() - kMostRows));
  return lines;
}

std::string names_of(const std::vector<std::uint32_t>& which, const std::vector<Host>& hosts) {
  std::vector<std::string> names;
  for (const std::uint32_t host : which) {
    if (host < hosts.size()) names.push_back(hosts[host].name);
  }
  return wire::fold_names(names);
}

}  // namespace charmtree::proto
