// SPDX-License-Identifier: Apache-2.0
#include "charmrun/debug/windows.hpp"

#include <fmt/format.h>

namespace charmtree {

namespace {

std::vector<std::string> sets(const wire::ProcessSet& processes) {
  if (processes.size() > kMostWindows) return {processes.print()};
  std::vector<std::string> each;
  for (const auto& [first, last] : processes.ranges()) {
    for (std::uint32_t process = first; process <= last; ++process) each.push_back(std::to_string(process));
  }
  return each;
}

void append(CommandLine& words, const CommandLine& more) {
  words.insert(words.end(), more.begin(), more.end());
}

CommandLine prompt_of(const Prompts& prompts, const std::string& set) {
  CommandLine words{prompts.charmrun, "++gdb", fmt::format("{}:{}", prompts.job, set)};
  append(words, prompts.options);
  return words;
}

}  // namespace

std::vector<CommandLine> xterm_commands(const Prompts& prompts, const std::string& xterm) {
  std::vector<CommandLine> all;
  for (const std::string& set : sets(prompts.processes)) {
    CommandLine words{xterm, "-title", fmt::format("process {}", set), "-e"};
    append(words, prompt_of(prompts, set));
    all.push_back(std::move(words));
  }
  return all;
}

/// Each pane is given its room before the next one is made.
CommandLine tmux_command(const Prompts& prompts, Tmux where) {
  CommandLine words{"tmux"};
  if (where == Tmux::window) append(words, {"new-window", "-n", tmux_session(prompts.job)});
  if (where == Tmux::attached) append(words, {"new-session", "-s", tmux_session(prompts.job)});
  if (where == Tmux::session)
    append(words, {"new-session", "-d", "-x", "200", "-y", "60", "-s", tmux_session(prompts.job)});
  bool is_first = true;
  for (const std::string& set : sets(prompts.processes)) {
    if (!is_first) append(words, {";", "split-window"});
    append(words, prompt_of(prompts, set));
    if (!is_first) append(words, {";", "select-layout", "tiled"});
    is_first = false;
  }
  return words;
}

std::string tmux_session(const std::string& job) {
  return "charmtree-" + job;
}

}  // namespace charmtree
