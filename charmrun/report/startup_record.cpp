// SPDX-License-Identifier: Apache-2.0
#include "charmrun/report/startup_record.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "tree/clients/client_server.hpp"

namespace charmtree {
namespace {

using Children = std::map<std::int32_t, std::vector<const LauncherRecord*>>;

/// The launchers under each parent, by host number. Who names an unknown parent (or itself) hangs under the
/// root.
Children children_of(const StartupRecord& record) {
  std::set<std::int32_t> known;
  for (const auto& launcher : record.launchers) known.insert(launcher.host);
  Children children;
  for (const auto& launcher : record.launchers) {
    if (launcher.host == kRootLauncher) continue;
    const bool lost = !known.contains(launcher.parent) || launcher.parent == launcher.host;
    children[lost ? kRootLauncher : launcher.parent].push_back(&launcher);
  }
  for (auto& [parent, list] : children) {
    std::sort(list.begin(), list.end(), [](const auto* a, const auto* b) { return a->host < b->host; });
  }
  return children;
}

}  // namespace

std::string_view name(Mark mark) {
  static constexpr std::array<std::string_view, kMarkCount> kNames = {
      "begun", "resolved", "connected",  "handshaken", "authenticated", "executed",
      "hello", "spawned",  "registered", "gathered",   "table",         "failed"};
  return kNames[static_cast<std::size_t>(mark)];
}

std::string_view name(Part part) {
  static constexpr std::array<std::string_view, kPartCount> kNames = {"connect",   "login",   "launcher",
                                                                      "processes", "subtree", "table"};
  return kNames[static_cast<std::size_t>(part)];
}

std::string_view description(Part part) {
  static constexpr std::array<std::string_view, kPartCount> kTexts = {
      "connect", "log in", "start launcher", "start processes", "wait for hosts below", "wait for table"};
  return kTexts[static_cast<std::size_t>(part)];
}

std::vector<Segment> segments(const LauncherRecord& launcher) {
  struct Cut {
    Part part;
    Mark end;
  };
  // `spawned` ends the same part as `registered`: whichever comes last was reached last.
  static constexpr std::array<Cut, kPartCount + 1> kCuts = {{{Part::connect, Mark::connected},
                                                             {Part::login, Mark::authenticated},
                                                             {Part::launcher, Mark::hello},
                                                             {Part::processes, Mark::spawned},
                                                             {Part::processes, Mark::registered},
                                                             {Part::subtree, Mark::gathered},
                                                             {Part::table, Mark::table}}};
  std::vector<Segment> result;
  if (!launcher.reached(Mark::begun)) return result;
  Duration begin = launcher.at(Mark::begun);
  for (const auto& cut : kCuts) {
    if (!launcher.reached(cut.end)) continue;
    const Duration end = std::max(begin, launcher.at(cut.end));
    if (!result.empty() && result.back().part == cut.part) {
      result.back().end = end;
    } else {
      result.push_back({cut.part, begin, end});
    }
    begin = end;
  }
  return result;
}

LauncherRecord& StartupRecorder::launcher(std::uint32_t host) {
  const auto [place, added] = places_.try_emplace(host, record_.launchers.size());
  if (added) {
    LauncherRecord& launcher = record_.launchers.emplace_back();
    launcher.host = static_cast<std::int32_t>(host);
    launcher.name = hosts_[host].name;
    launcher.processes = hosts_[host].processes;
  }
  return record_.launchers[place->second];
}

void set_processes(StartupRecord& record, const std::vector<Host>& hosts) {
  std::uint32_t all = 0;
  for (const Host& host : hosts) all += host.processes;
  if (all == 0) return;
  record.processes = all;
  for (LauncherRecord& launcher : record.launchers) {
    if (launcher.host >= 0) launcher.processes = hosts[static_cast<std::size_t>(launcher.host)].processes;
  }
}

void StartupRecorder::stamped(const wire::Stamps& stamps) {
  using S = wire::Stamps;
  static constexpr std::array<std::pair<S::Step, Mark>, S::kTimes - 1> kSteps = {
      {{S::begun, Mark::begun},
       {S::resolved, Mark::resolved},
       {S::connected, Mark::connected},
       {S::handshaken, Mark::handshaken},
       {S::authenticated, Mark::authenticated},
       {S::executed, Mark::executed},
       {S::hello, Mark::hello},
       {S::spawned, Mark::spawned},
       {S::registered, Mark::registered},
       {S::gathered, Mark::gathered},
       {S::table, Mark::table}}};
  LauncherRecord& record = launcher(stamps.host);
  record.parent =
      stamps.parent == wire::kRootIndex ? kRootLauncher : static_cast<std::int32_t>(stamps.parent);
  record.level = stamps.level;
  record.attempts = stamps.attempts;
  for (const auto& [step, mark] : kSteps) {
    if (stamps.times[step] != kNever) record.set(mark, stamps.times[step] - started_);
  }
}

void StartupRecorder::failed(std::uint32_t host, const Error& error, Instant at) {
  const bool known = places_.contains(host);
  LauncherRecord& record = launcher(host);
  if (!record.error.empty()) return;
  record.error = to_string(error);
  record.set(Mark::failed, at - started_);
  if (known) return;
  record.level = 1;  // who tried it is told only by a launcher that answered
  record.attempts = 0;
}

void StartupRecorder::initialised(const proto::AllInitialised& times) {
  if (!record_.init) record_.init = {times.first - started_, times.last - started_};
}

void StartupRecorder::fence_over(const proto::FenceOver& over) {
  if (record_.fences.size() == kMostFences) return;
  const auto processes = static_cast<std::uint32_t>(wire::size_of(over.fence.processes));
  const bool is_pmi = over.fence.protocol == static_cast<std::uint8_t>(proto::ClientKind::pmi);
  record_.fences.push_back({is_pmi ? "pmi" : "pmix", over.fence.number, processes, over.requests, over.bytes,
                            over.begun - started_, over.over - started_});
}

Duration last_mark(const LauncherRecord& launcher) {
  Duration last{0};
  for (const Duration mark : launcher.marks) last = std::max(last, mark);
  return last;
}

Duration own_time(const LauncherRecord& launcher) {
  Duration total{0};
  for (const auto& segment : segments(launcher)) {
    if (segment.part != Part::subtree && segment.part != Part::table) total += segment.end - segment.begin;
  }
  return total;
}

std::uint32_t levels(const StartupRecord& record) {
  std::uint32_t deepest = 0;
  for (const auto& launcher : record.launchers) deepest = std::max(deepest, launcher.level);
  return deepest;
}

Duration startup_time(const StartupRecord& record) {
  Duration last{0};
  for (const auto& launcher : record.launchers) last = std::max(last, last_mark(launcher));
  return last;
}

std::array<PartTimes, kPartCount> part_times(const StartupRecord& record) {
  std::set<std::int32_t> inner;
  for (const auto& launcher : record.launchers) {
    if (launcher.host != kRootLauncher) inner.insert(launcher.parent);
  }
  std::array<PartTimes, kPartCount> times;
  for (const auto& launcher : record.launchers) {
    if (launcher.host == kRootLauncher || !launcher.error.empty()) continue;
    for (const auto& segment : segments(launcher)) {
      if (segment.part == Part::subtree && !inner.contains(launcher.host)) continue;
      auto& part = times[static_cast<std::size_t>(segment.part)];
      const Duration length = segment.end - segment.begin;
      if (length > part.longest) {
        part.longest = length;
        part.slowest = &launcher;
      }
      part.sorted.push_back(length);
    }
  }
  for (auto& part : times) std::sort(part.sorted.begin(), part.sorted.end());
  return times;
}

std::vector<const LauncherRecord*> in_tree_order(const StartupRecord& record) {
  Children children = children_of(record);
  std::vector<const LauncherRecord*> order;
  std::vector<const LauncherRecord*> stack;
  const auto push_children = [&](std::int32_t parent) {
    const auto found = children.find(parent);
    if (found == children.end()) return;
    stack.insert(stack.end(), found->second.rbegin(), found->second.rend());
    children.erase(found);  // each list is used once, so a circle of parents cannot go round
  };
  for (const auto& launcher : record.launchers) {
    if (launcher.host == kRootLauncher) order.push_back(&launcher);
  }
  push_children(kRootLauncher);
  while (!stack.empty() || !children.empty()) {
    if (stack.empty()) push_children(children.begin()->first);  // only circles are left
    const LauncherRecord* launcher = stack.back();
    stack.pop_back();
    order.push_back(launcher);
    push_children(launcher->host);
  }
  return order;
}

}  // namespace charmtree
