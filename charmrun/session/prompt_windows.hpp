// SPDX-License-Identifier: Apache-2.0
// ++debug and ++tmux: opens the windows of charmrun/debug/windows.hpp on this machine.
#pragma once

#include <string>

#include "charmrun/cli/options.hpp"
#include "tree/base/result.hpp"
#include "tree/io/child_watch.hpp"
#include "tree/wire/process_set.hpp"

namespace charmtree {

/// There is a display with an xterm, or tmux. Errors are what the user must put right.
Result<void> check_windows(const Options& options);

/// Opens one for each process of a job with so many; what the user is to read of it, if anything. They are
/// gone when their prompts are.
Result<std::string> open_windows(const Options& options, const std::string& job, std::uint32_t processes,
                                 io::ChildWatch& watch);

/// Becomes a tmux with prompts for these; returns only an error.
Error become_tmux(const Options& options, const std::string& job, const wire::ProcessSet& processes);

}  // namespace charmtree
