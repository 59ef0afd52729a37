// SPDX-License-Identifier: Apache-2.0
// The signals by which a user ends a job: INT, TERM and HUP. One that was ignored when we started stays
// ignored (nohup).
#pragma once

#include <functional>

#include "tree/io/asio.hpp"

namespace charmtree {

/// Calls `handler` for each of them from the event loop, as long as `signals`, which is empty, lives.
void watch_user_signals(io::asio::signal_set& signals, std::function<void(int signal)> handler);

}  // namespace charmtree
