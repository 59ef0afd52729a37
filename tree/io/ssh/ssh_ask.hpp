// SPDX-License-Identifier: Apache-2.0
// Runs short commands, several at a time, and collects what they print. Blocks, bounded in time and in bytes.
// Not for the event loop.
#pragma once

#include <string>
#include <vector>

#include "tree/base/time.hpp"

namespace charmtree::io {

inline constexpr std::size_t kMaxAnswerBytes = 256 * 1024;
inline constexpr std::size_t kAsksAtATime = 16;

struct CommandAnswer {
  bool finished = false;  // false: not started, or killed at the limit
  int status = -1;        // exit status; 128 + n for a signal
  std::string output;     // stdout and stderr, the first kMaxAnswerBytes
};

/// Runs each command (argv; looked up in PATH) with stdin from /dev/null. All are over, or killed, when this
/// returns. `limit` is for all of them together.
std::vector<CommandAnswer> run_commands(const std::vector<std::vector<std::string>>& commands,
                                        Duration limit);

}  // namespace charmtree::io
