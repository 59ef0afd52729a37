// SPDX-License-Identifier: Apache-2.0
#include "tree/turn/process_ends.hpp"

#include <fmt/format.h>

#include <array>

#include "tree/base/signal_name.hpp"
#include "tree/turn/process_end.hpp"

namespace charmtree::proto {

std::string_view name(EndKind kind) {
  static constexpr std::array<std::string_view, 7> kNames = {"well",       "exit",     "killed", "abort",
                                                             "connection", "launcher", "stopped"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string print(const WayToEnd& way) {
  switch (way.kind) {
    case EndKind::well:
      return "ended well";
    case EndKind::exit:
      return fmt::format("exit status {}", way.number);
    case EndKind::killed: {
      const std::string_view name = signal_name(way.number);
      return name.empty() ? fmt::format("signal {}", way.number)
                          : fmt::format("signal {}, SIG{}", way.number, name);
    }
    case EndKind::abort:
      return fmt::format("aborted with status {}", way.number);
    case EndKind::connection:
      return "connection lost";
    case EndKind::launcher:
      return "lost with its launcher";
    case EndKind::stopped:
      break;
  }
  return "ended by charmrun";
}

WayToEnd way_of(const wire::ProcessExit& exit) {
  if (exit.asked) return {EndKind::stopped};
  if (exit.lost_connection || exit.refused) return {EndKind::connection};
  if (exit.signal != 0) return {EndKind::killed, exit.signal};
  return {EndKind::exit, static_cast<std::uint8_t>(low_byte(exit.code))};
}

WayToEnd way_of(const wire::AbortUp& abort) {
  return {EndKind::abort, static_cast<std::uint8_t>(low_byte(abort.code))};
}

bool ProcessEnds::add(const WayToEnd& way, wire::ProcessSet::Range processes) {
  const auto fresh = all_.missing(processes);
  for (const wire::ProcessSet::Range& range : fresh) ways_[way].add(range);
  all_.add(processes);
  return !fresh.empty();
}

void ProcessEnds::add_others(const WayToEnd& way, std::uint32_t processes) {
  if (processes > 0) add(way, {0, processes - 1});
}

std::string ProcessEnds::line(const Where& where) const {
  std::size_t failed = 0, told = 0;
  std::string text;
  for (const auto& [way, processes] : ways_) {
    if (!way.is_failure() || way.kind == EndKind::launcher) continue;
    failed += processes.size();
    if (++told > kMostWays) continue;
    std::string which = processes.print();
    if (which.size() > kMostOfWay) which = which.substr(0, which.rfind(',', kMostOfWay)) + ",...";
    text +=
        fmt::format("{}{}{} ({})", told == 1 ? "" : "; ", which, where ? where(processes) : "", print(way));
  }
  if (failed < 2) return {};
  if (told > kMostWays) text += "; others in other ways";
  return fmt::format("{} processes failed: {}", failed, text);
}

}  // namespace charmtree::proto
