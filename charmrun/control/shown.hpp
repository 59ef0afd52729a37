// SPDX-License-Identifier: Apache-2.0
// The messages in which charmrun sends what it would show its user: to viewers of a job (++view) and to the
// client of a run in a session.
#pragma once

#include <cstdint>
#include <string>

#include "tree/turn/events.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::control {

/// A line of charmrun's own; see proto::Tone.
struct Line {
  std::uint8_t tone = 0;
  std::string text;
};
/// A piece of output; see proto::Show.
struct Printed {
  wire::Output output;
  std::string host;
  std::uint32_t processes = 1;
  bool raw = false;
};

inline bool is_sound(const Line& line) {
  return line.tone <= static_cast<std::uint8_t>(proto::Tone::error);
}
inline bool is_sound(const Printed& printed) {
  return printed.output.stream <= static_cast<std::uint8_t>(proto::Stream::terminal);
}

}  // namespace charmtree::control
