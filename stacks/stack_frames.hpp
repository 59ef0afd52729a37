// SPDX-License-Identifier: Apache-2.0
// What people want to see of a process's frames: what is outside of main, and what is inside of a runtime
// that waits, is the same in every process, or differs from one moment to the next and says nothing. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stacks/messages.hpp"

namespace charmtree::stacks {

/// A stack as one look at a process has found it, the outermost frame first.
using Frames = std::vector<std::string>;

struct Stack {
  Frames native;
  Frames python;  // of the program that the interpreter runs, whose functions the others are
};
/// This function of the process runs Python functions.
bool runs_python(std::string_view function);
/// All of them: Python's behind what has called the innermost of them.
Frames all_frames(Stack stack);

struct Folded {
  Frames frames;
  bool is_waiting = false;  // in a runtime, for others
};
/// Without what is outside of main, and of an interpreter; what is inside of an MPI function, or of a Charm++
/// scheduler that has nothing to do, becomes one frame.
Folded fold_frames(Stack stack);

/// What one process did.
struct Seen {
  Frames frames;
  Motion motion = Motion::waits;
};
/// What the kernel says of it meanwhile.
enum class Activity : std::uint8_t { none, computes, stopped };
/// Several looks at it, at least one.
Seen sum_up(const std::vector<Folded>& looks, Activity activity);

}  // namespace charmtree::stacks
