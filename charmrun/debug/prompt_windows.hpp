// SPDX-License-Identifier: Apache-2.0
// ++debug, ++tmux and ++in-xterm: opens the windows of charmrun/debug/windows.hpp on this machine.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "charmrun/cli/options.hpp"
#include "tree/base/result.hpp"
#include "tree/io/child_watch.hpp"
#include "tree/wire/process_set.hpp"

namespace charmtree {

/// There is a display with an xterm, or tmux. Errors are what the user must put right.
Result<void> check_windows(const Options& options);

/// One window for each process of a job.
class PromptWindows {
public:
  /// `failed` is called from the loop if what opens one says that it could not. `watch` outlives the object.
  PromptWindows(io::ChildWatch& watch, std::function<void(const Error&)> failed)
      : watch_(watch), failed_(std::move(failed)) {}
  PromptWindows(const PromptWindows&) = delete;
  PromptWindows& operator=(const PromptWindows&) = delete;
  ~PromptWindows();
  /// Of a job with so many processes; what the user is to read of it, if anything.
  Result<std::string> open(const Options& options, const std::string& job, std::uint32_t processes);

private:
  io::ChildWatch& watch_;
  std::function<void(const Error&)> failed_;
  std::vector<pid_t> pids_;
};

/// Becomes a tmux with prompts for these; returns only an error.
Error become_tmux(const Options& options, const std::string& job, const wire::ProcessSet& processes);

}  // namespace charmtree
