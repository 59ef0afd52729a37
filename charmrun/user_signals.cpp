// SPDX-License-Identifier: Apache-2.0
#include "charmrun/user_signals.hpp"

#include <csignal>
#include <utility>

namespace charmtree {

namespace {

void wait(io::asio::signal_set& signals, std::function<void(int)> handler) {
  signals.async_wait([&signals, handler = std::move(handler)](io::error_code ec, int signal) {
    if (ec) return;
    handler(signal);
    wait(signals, handler);
  });
}

}  // namespace

void watch_user_signals(io::asio::signal_set& signals, std::function<void(int)> handler) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    ::sigaction(signal, nullptr, &now);
    if (now.sa_handler != SIG_IGN) signals.add(signal);
  }
  wait(signals, std::move(handler));
}

}  // namespace charmtree
