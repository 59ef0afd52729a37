// SPDX-License-Identifier: Apache-2.0
// `charmrun ++stack-helper`: a process that a launcher starts to look at the stacks of its host's processes.
// It holds these with ptrace and reads their memory and files, which takes time, and may go wrong: nobody
// else is to wait for that, or to fail with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace charmtree::io {

/// If `words` are those of a helper (kStackHelperWord): reads lines "PROCESS PID" on stdin to their end,
/// looks at those three times, and writes stacks::Stacks to stdout. Its status.
std::optional<int> run_stack_helper(const std::vector<std::string>& words);

}  // namespace charmtree::io
