// SPDX-License-Identifier: Apache-2.0
// The stack of a process that has been started like any other, by libdw: for a millisecond its main thread is
// held by ptrace.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "stacks/stack_frames.hpp"
#include "tree/base/result.hpp"
#include "tree/io/stacks/function_frame.hpp"
#include "tree/io/stacks/python_stack.hpp"

namespace charmtree::io {

class ProcessStack {
public:
  explicit ProcessStack(pid_t pid) : pid_(pid) {}

  /// Its functions, and those of a Python program that it runs. The first time takes longer: the files that
  /// the process consists of are opened. Error refused: what says why.
  Result<stacks::Stack> read();

private:
  struct Walk;
  Result<void> open();
  static int take_frame(Dwfl_Frame* frame, void* walk);
  void look_at_python(Walk& walk, Dwfl_Module* module);

  pid_t pid_;
  DwflHandle dwfl_;
  std::optional<std::optional<PythonRuntime>> python_;  // it has been looked for
};

}  // namespace charmtree::io
