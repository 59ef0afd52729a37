// SPDX-License-Identifier: Apache-2.0
// The signals by which a user speaks to charmrun: those that end a job (INT, TERM, HUP), those for the
// program (USR1, USR2), for a status (QUIT), to be suspended (TSTP) and to go on (CONT). One that was ignored
// when we started stays ignored (nohup); so does a TSTP where nobody could continue us.
#pragma once

#include <functional>

#include "tree/io/asio.hpp"

namespace charmtree {

/// Calls `handler` for each of them from the event loop, as long as `signals`, which is empty, lives.
void watch_user_signals(io::asio::signal_set& signals, std::function<void(int signal)> handler);
/// The same for those that end a job, for whoever has none that could get the others.
void watch_ending_signals(io::asio::signal_set& signals, std::function<void(int signal)> handler);

}  // namespace charmtree
