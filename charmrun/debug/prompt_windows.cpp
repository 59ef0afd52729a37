// SPDX-License-Identifier: Apache-2.0
#include "charmrun/debug/prompt_windows.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "charmrun/debug/prompt.hpp"
#include "charmrun/debug/windows.hpp"
#include "tree/io/spawn.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/job/environment.hpp"

namespace charmtree {

namespace {

std::string display_of(const Options::Debug& options) {
  const std::vector<std::string> environment = io::own_environment();
  return options.display.empty() ? std::string{proto::value_of(environment, "DISPLAY")} : options.display;
}

bool is_in_tmux() {
  const std::vector<std::string> environment = io::own_environment();
  return !proto::value_of(environment, "TMUX").empty();
}

io::SpawnRequest request_of(const Options::Debug& options, WindowCommand words) {
  io::SpawnRequest request;
  request.program = words.front();
  request.arguments = std::move(words);
  request.environment = io::own_environment();
  request.dies_with_parent = false;
  if (!options.display.empty()) proto::overlay(request.environment, {"DISPLAY=" + options.display});
  return request;
}

std::string own_file() {
  const std::string self = "/proc/self/exe";
  std::error_code failed;
  const auto file = std::filesystem::read_symlink(self, failed);
  return failed ? self : file.string();
}

/// What they are for.
const char* option_of(const Options::Debug& options) {
  return options.opens_prompts() ? "++debug" : "++in-xterm";
}

Windows prompts_of(const Options::Debug& options, const std::string& job, const wire::ProcessSet& processes) {
  Windows prompts{Windows::Of::prompts, own_file(), job, processes};
  std::string commands = options.no_pause ? "continue &" : "";
  if (!options.commands.empty()) commands += (commands.empty() ? "" : "\\n") + options.commands;
  if (!commands.empty()) prompts.options = {"++debug-commands", commands};
  if (!options.debugger.empty()) {
    prompts.options.emplace_back("++debugger");
    prompts.options.push_back(options.debugger);
  }
  return prompts;
}

}  // namespace

Result<void> check_windows(const Options& options) {
  const bool by_xterm = !display_of(options.debug).empty();
  const std::string program = by_xterm ? options.debug.xterm : "tmux";
  if (io::file_to_execute(request_of(options.debug, {program}))) return {};
  return Error{Errc::no_program, Phase::options,
               fmt::format("{} opens windows by {}, which is not here", option_of(options.debug), program),
               by_xterm ? "install it, name another with ++xterm, or unset DISPLAY for tmux"
                        : "install it, or set DISPLAY for xterm; ++gdb and ++view need neither"};
}

PromptWindows::~PromptWindows() {
  for (const pid_t pid : pids_) watch_.forget(pid);
}

Result<std::string> PromptWindows::open(const Options& options, const std::string& job,
                                        std::uint32_t processes) {
  const auto all = read_processes({}, processes);
  const Windows windows = options.debug.opens_prompts()
                              ? prompts_of(options.debug, job, *all)
                              : Windows{Windows::Of::output, own_file(), job, *all, {"++quiet"}};
  const bool by_xterm = !display_of(options.debug).empty();
  const auto commands =
      by_xterm
          ? xterm_commands(windows, options.debug.xterm)
          : std::vector<WindowCommand>{tmux_command(windows, is_in_tmux() ? Tmux::window : Tmux::session)};
  for (const WindowCommand& words : commands) {
    const auto pid = io::spawn(request_of(options.debug, words));
    if (!pid) return pid.error();
    pids_.push_back(*pid);
    watch_.add(*pid, [this, what = fmt::format("{}: {} has failed", option_of(options.debug), words.front())](
                         io::ChildStatus status) {
      if (status.code != 0 || status.signal != 0)
        failed_({Errc::spawn_failed, Phase::run, what,
                 "does it work by itself here? ++gdb and ++view need no window"});
    });
  }
  if (by_xterm || is_in_tmux()) return std::string{};
  return fmt::format("{}: tmux attach -t {} shows the windows", option_of(options.debug), tmux_session(job));
}

Error become_tmux(const Options& options, const std::string& job, const wire::ProcessSet& processes) {
  const WindowCommand words =
      tmux_command(prompts_of(options.debug, job, processes), is_in_tmux() ? Tmux::window : Tmux::attached);
  std::vector<char*> arguments = io::pointers(words);
  io::restore_usual_signals();
  ::execvp(arguments.front(), arguments.data());
  return {Errc::no_program, Phase::options, fmt::format("tmux: {}", std::strerror(errno)),
          "install tmux, or use ++gdb, which needs none"};
}

}  // namespace charmtree
