// SPDX-License-Identifier: Apache-2.0
// The functions of a Python program, read from the memory of its interpreter (CPython 3.8 to 3.14): its own
// stack shows the interpreter's functions alone.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "stacks/stack_frames.hpp"

struct Dwfl_Module;

namespace charmtree::io {

/// Where an interpreter keeps what it runs, and which it is (3.MINOR).
struct PythonRuntime {
  std::uint64_t address = 0;
  unsigned minor = 0;
};
/// Of the module of a process that has the interpreter's functions; nothing: it is of another version.
std::optional<PythonRuntime> find_python(pid_t pid, Dwfl_Module* module);

/// What the main thread of its main interpreter runs, the outermost function first: "step (solver.py)". As
/// far as that can be read.
stacks::Frames python_frames(pid_t pid, const PythonRuntime& runtime);

}  // namespace charmtree::io
