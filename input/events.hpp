// SPDX-License-Identifier: Apache-2.0
// The events and actions of the input service.
#pragma once

#include <cstdint>
#include <string>

#include "tree/turn/event.hpp"
#include "tree/wire/job_spec.hpp"

namespace charmtree::input {

using proto::Action;
using proto::Event;

// ---- events

/// Root: answers ReadInput. `end`: the user's stdin has no more.
struct InputRead {
  using Family = Event;
  std::string bytes;
  bool end = false;
};
/// The pipe of a process has taken so many bytes of proto::WriteInput; at a terminal, the process has read
/// them.
struct InputWritten {
  using Family = Event;
  std::uint32_t process;
  std::uint32_t bytes;
};
/// Answers RecallPipe.
struct InputRecalled {
  using Family = Event;
  std::string bytes;
};
/// Root: the window of the user's terminal has a new size.
struct WindowResized {
  using Family = Event;
  wire::WindowSize size;
};

// ---- actions

/// Root: read at most so many bytes of the user's stdin. `keys`: read each key of a terminal as it is typed,
/// control keys too. The answer is InputRead.
struct ReadInput {
  using Family = Action;
  std::uint32_t bytes;
  bool keys = false;
};
/// Root: stop reading keys: the terminal edits lines again.
struct ReleaseKeys {
  using Family = Action;
};
/// Take back what the input process has not read. The answer is InputRecalled.
struct RecallPipe {
  using Family = Action;
  std::uint32_t process;
};
/// Resize the terminal of the input process.
struct ResizeTerminal {
  using Family = Action;
  std::uint32_t process;
  wire::WindowSize size;
};

}  // namespace charmtree::input
