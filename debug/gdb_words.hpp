// SPDX-License-Identifier: Apache-2.0
// What is known of gdb's commands, and of the texts that it prints. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace charmtree::debug {

/// Without the blanks around it.
std::string_view trim(std::string_view text);

/// How a command is carried out where gdb holds several processes.
enum class GdbManner : std::uint8_t {
  of_each,    // by each process for itself
  once,       // it is of all that gdb holds: breakpoints and settings
  resumes,    // a process runs on, with all its threads
  steps,      // its thread runs to some place, and its other threads meanwhile
  takes_more  // it would read lines that nobody sends, or change what is relied on
};
GdbManner manner_of(std::string_view line);
/// The prompt comes back at once.
bool is_in_background(std::string_view line);
/// It chooses the frame that is looked at.
bool moves_frame(std::string_view line);
/// break and its kin, which may have a condition.
bool is_breakpoint(std::string_view line);

/// As the argument of a command of the machine interface.
std::string quoted_for_gdb(std::string_view line);

/// What processes say that differs by the order in which gdb counts: numbers of threads, locations and
/// values. Of a stop also what gdb has said about symbols; each line may be shown on a terminal.
std::string tidy_answer(std::string_view text);
std::string tidy_stop(std::string_view text);

}  // namespace charmtree::debug
