// SPDX-License-Identifier: Apache-2.0
// What the prompt of `charmrun ++gdb` and the debuggers on the hosts say to each other. Answers that are the
// same are one, however many processes have given it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tree/wire/message.hpp"
#include "tree/wire/process_group.hpp"

namespace charmtree::debug {

/// Of one message up: answers, and bytes of all their texts and spans; of one answer: bytes, and numbers that
/// differ, and digits of each.
inline constexpr std::size_t kMostDebugAnswers = 256, kMostDebugTexts = 256U << 10;
inline constexpr std::size_t kMostDebugText = 16U << 10, kMostDebugSpans = 64, kMostDebugNumber = 32;
/// Bytes of a message with as many answers.
inline constexpr std::size_t kMaxDebug = 1U << 20;

/// Down: of a prompt, for these processes.
struct DebugOrder {
  CT_MESSAGE(down, 42);
  enum class What : std::uint8_t {
    begin,      // take hold of them, with the debugger `line`; empty: gdb
    command,    // `line`: what gdb is told of each
    interrupt,  // those that run stop; needs no answer
    end,        // let go of all of the session; needs no answer
  };
  std::uint32_t session = 0;  // of the job's, from 1
  std::uint32_t number = 0;   // of the session's, rising
  What what = What::begin;
  bool each = false;  // answers that differ stay apart
  std::string line;
  std::vector<wire::ProcessSet::Range> which;
};

/// Of a number that these processes have not the same of, as they have written it.
struct NumberSpan {
  std::string low, high;
  friend bool operator==(const NumberSpan&, const NumberSpan&) = default;
};

struct DebugAnswer {
  enum class Kind : std::uint8_t {
    said,     // to a command
    stopped,  // where, and why
    gone,     // no longer in the session, and why
  };
  /// Stands in a text for the next span.
  static constexpr char kHole = '\x1a';

  Kind kind = Kind::said;
  std::string text;                            // lines
  std::vector<NumberSpan> spans;               // one for each hole
  std::uint32_t processes = 0;                 // have answered so
  std::vector<wire::ProcessSet::Range> which;  // the lowest of them
};
struct DebugAnswers {
  std::vector<DebugAnswer> answers;
  std::uint32_t left_out = 0;  // so many more have not been kept
};

/// Up: of the processes here and below. `done`: all of them have answered that order, 0: not yet.
struct DebugUp {
  CT_MESSAGE(up, 86);
  std::uint32_t session = 0, done = 0;
  DebugAnswers said;
};

inline bool is_sound(const DebugAnswer& answer) {
  const auto holes = std::count(answer.text.begin(), answer.text.end(), DebugAnswer::kHole);
  return static_cast<std::size_t>(holes) == answer.spans.size() &&
         wire::is_group(answer.processes, answer.which);
}

}  // namespace charmtree::debug
