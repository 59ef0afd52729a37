// SPDX-License-Identifier: Apache-2.0
#include "charmrun/debug/windows.hpp"

#include <fmt/format.h>

namespace charmtree {

namespace {

/// A window is gone when its command has ended: what was printed last would be, too.
constexpr const char* kStays =
    R"("$@"; echo "charmrun: the job has ended with status $?; Enter closes this window"; read line)";

std::vector<std::string> sets(const wire::ProcessSet& processes) {
  if (processes.size() > kMostWindows) return {processes.print()};
  std::vector<std::string> each;
  for (const auto& [first, last] : processes.ranges()) {
    for (std::uint32_t process = first; process <= last; ++process) each.push_back(std::to_string(process));
  }
  return each;
}

void append(WindowCommand& words, const WindowCommand& more) {
  words.insert(words.end(), more.begin(), more.end());
}

WindowCommand command_line_of(const Windows& windows, const std::string& set) {
  const bool shows_output = windows.of == Windows::Of::output;
  WindowCommand words;
  if (shows_output) words = {"sh", "-c", kStays, "sh"};
  append(words,
         {windows.charmrun, shows_output ? "++view" : "++gdb", fmt::format("{}:{}", windows.job, set)});
  append(words, windows.options);
  return words;
}

}  // namespace

std::vector<WindowCommand> xterm_commands(const Windows& windows, const std::string& xterm) {
  std::vector<WindowCommand> all;
  for (const std::string& set : sets(windows.processes)) {
    WindowCommand words{xterm, "-title", fmt::format("process {}", set), "-e"};
    append(words, command_line_of(windows, set));
    all.push_back(std::move(words));
  }
  return all;
}

/// Each pane is given its room before the next one is made.
WindowCommand tmux_command(const Windows& windows, Tmux where) {
  WindowCommand words{"tmux"};
  if (where == Tmux::window) append(words, {"new-window", "-n", tmux_session(windows.job)});
  if (where == Tmux::attached) append(words, {"new-session", "-s", tmux_session(windows.job)});
  if (where == Tmux::session)
    append(words, {"new-session", "-d", "-x", "200", "-y", "60", "-s", tmux_session(windows.job)});
  bool is_first = true;
  for (const std::string& set : sets(windows.processes)) {
    if (!is_first) append(words, {";", "split-window"});
    append(words, command_line_of(windows, set));
    if (!is_first) append(words, {";", "select-layout", "tiled"});
    is_first = false;
  }
  return words;
}

std::string tmux_session(const std::string& job) {
  return "charmtree-" + job;
}

}  // namespace charmtree
