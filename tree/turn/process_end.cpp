// SPDX-License-Identifier: Apache-2.0
#include "tree/turn/process_end.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "tree/base/exit_status.hpp"
#include "tree/base/signal_name.hpp"
#include "tree/wire/fold.hpp"

namespace charmtree::proto {

namespace {

constexpr int kIllegal = 4, kKilled = 9;  // SIGILL, SIGKILL

/// "signal 9 (SIGKILL: Killed)"; those for programs' own use have no name.
std::string signal_text(int signal) {
  const std::string_view name = signal_name(signal);
  if (name.empty()) return fmt::format("signal {}", signal);
  return fmt::format("signal {} (SIG{}: {})", signal, name, strsignal(signal));
}

}  // namespace

std::string describe(const wire::ProcessExit& exit) {
  if (exit.hung) return "killed by ++hang-action: " + exit.text;
  if (exit.lost_connection) return exit.text.empty() ? "its connection to the launcher ended" : exit.text;
  if (exit.signal == 0 && exit.text.empty()) return fmt::format("exited with status {}", exit.code);
  if (exit.signal == 0) return fmt::format("exited with status {}: {}", exit.code, exit.text);
  const std::string text = "killed by " + signal_text(exit.signal);
  if (!exit.text.empty()) return text + ", " + exit.text;
  return exit.core ? text + ", core dumped" : text;
}

std::string describe(const wire::AbortUp& abort) {
  const std::size_t end = abort.text.find_last_not_of(" \t\r\n") + 1;  // 0 if there is nothing
  return "aborted: " + abort.text.substr(0, end);
}

std::string_view remedy(const wire::ProcessExit& exit) {
  if (exit.hung) return "; if it was computing, allow it more (++hang-after)";
  if (exit.lost_connection) return {};
  if (exit.signal == kKilled && exit.text.empty())
    return "; was it killed for want of memory? see dmesg there";
  if (exit.signal == kKilled) return "; give it more memory, or start fewer processes there";
  if (exit.signal == kIllegal) return "; is it built for the processor there?";
  if (exit.core && exit.text.empty()) return "; see its core file there";
  if (exit.signal == 0 && !exit.text.empty()) return "; see ldd and LD_LIBRARY_PATH there";
  return {};
}

bool tells_crash(std::string_view how) {
  constexpr std::array<std::string_view, 4> kFaults{"segmentation violation", "floating point exception",
                                                    "bus error", "illegal instruction"};
  return how.starts_with("aborted: Fatal error on PE ") &&
         std::any_of(kFaults.begin(), kFaults.end(), [&](auto fault) { return how.ends_with(fault); });
}

std::string words_for(Duration time) {
  return time < 10s ? fmt::format("{:.1f} s", seconds(time)) : fmt::format("{:.0f} s", seconds(time));
}

Cause cause_of(const wire::ProcessExit& exit) {
  if (exit.lost_connection) return Cause::connection;
  return exit.signal != 0 ? Cause::killed : Cause::exit;
}

int low_byte(int code) {
  return (code & 0xFF) == 0 ? 1 : code & 0xFF;
}

int status_of(const wire::ProcessExit& exit) {
  return exit.signal != 0 ? status_of_signal(exit.signal) : low_byte(exit.code);
}

void Aftermath::on(const wire::ProcessExit& exit, int stop_signal) {
  if (told_.contains(exit.process)) return;
  told_.add(exit.process);
  if (!exit.asked) {
    others_ -= std::min(others_, 1U);
    return;
  }
  const bool as_asked = exit.signal == stop_signal || exit.code == status_of_signal(stop_signal);
  if (exit.lost_connection || exit.refused || as_asked) return;
  const bool had_to = exit.signal == kKilled && exit.text.empty();
  ways_[had_to ? "had to be killed" : describe(exit)].push_back(exit.process);
}

void Aftermath::aborted(std::uint32_t process) {
  if (told_.contains(process)) return;
  told_.add(process);
  others_ -= std::min(others_, 1U);
}

std::string Aftermath::line() const {
  if (others_ == 0) return {};
  std::string text = others_ == 1 ? "the other process was ended because of that"
                                  : fmt::format("the other {} processes were ended because of that", others_);
  std::size_t told = 0;
  for (const auto& [way, processes] : ways_) {
    if (told++ == kMaxWays) return text + ", others in other ways";
    text += fmt::format("{} {} {}", told == 1 ? ";" : ",", wire::fold_numbers(processes), way);
  }
  return text;
}

}  // namespace charmtree::proto
