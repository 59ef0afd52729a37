// SPDX-License-Identifier: Apache-2.0
// Prompts (charmrun ++gdb), or what processes print (++view), in windows of their own: an xterm for each, or
// the panes of tmux. They run beside charmrun, wherever the processes are, so nothing but the launchers'
// links leads to the hosts. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tree/wire/process_set.hpp"

namespace charmtree {

/// More would not be read: then all have one prompt together.
inline constexpr std::size_t kMostWindows = 16;

struct Windows {
  enum class Of : std::uint8_t { prompts, output };
  Of of = Of::prompts;
  std::string charmrun;  // our own file
  std::string job;
  wire::ProcessSet processes;
  std::vector<std::string> options = {};  // of what is shown there
};

using WindowCommand = std::vector<std::string>;
/// Command lines, one for each window.
std::vector<WindowCommand> xterm_commands(const Windows& windows, const std::string& xterm);

enum class Tmux : std::uint8_t {
  session,   // of its own, which nobody looks at yet
  attached,  // of its own, at this terminal
  window,    // of the one that we are in
};
WindowCommand tmux_command(const Windows& windows, Tmux where);
/// The name of a session of its own.
std::string tmux_session(const std::string& job);

}  // namespace charmtree
