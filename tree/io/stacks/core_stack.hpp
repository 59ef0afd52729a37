// SPDX-License-Identifier: Apache-2.0
// Where a process has crashed, by libdw from its core file.
#pragma once

#include <string>

#include "stacks/stack_frames.hpp"
#include "tree/base/result.hpp"
#include "tree/io/core_file.hpp"

namespace charmtree::io {

struct Crash {
  stacks::Stack stack;  // of the thread that crashed; Python's functions are not looked for
  std::string source;   // "step.cpp:42": of the innermost function that was compiled with -g; or empty
};

/// Error refused: it is not a core file of that process, or not this user's, or says nothing.
Result<Crash> read_core(const CoreFile& core);

}  // namespace charmtree::io
