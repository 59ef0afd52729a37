// SPDX-License-Identifier: Apache-2.0
// The terminal that a process gets instead of pipes (++interactive). What is written to the master end goes
// through the line discipline as if it had been typed: it is echoed, edited, and control keys become signals.
#pragma once

#include <sys/types.h>

#include <array>
#include <optional>
#include <string>

#include "tree/base/result.hpp"
#include "tree/io/unique_fd.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::io {

/// The process gets `slave`; ours does not block. As long as we hold the slave, too, the master never reads
/// as ended.
struct PseudoTerminal {
  UniqueFd master, slave;
};

/// Error: spawn_failed.
Result<PseudoTerminal> open_pseudo_terminal(const wire::Terminal& terminal);

/// Returns one that carries bytes unchanged, for output alone. Error: spawn_failed.
Result<PseudoTerminal> open_output_terminal();

/// Of the terminal that `fd` is; nothing if it is none, or one that does not know.
std::optional<wire::WindowSize> window_size(int fd);
/// Has no effect on what is no terminal.
void set_window_size(int fd, wire::WindowSize size);

/// The byte that stands for the end of the input, if there is nothing that the process has not read yet.
std::optional<char> end_of_input(int slave);

/// What the process has not read yet, which it never will then.
std::string take_back_input(int slave);

}  // namespace charmtree::io
