// SPDX-License-Identifier: Apache-2.0
#include "charmrun/cli/user_signals.hpp"

#include <csignal>
#include <initializer_list>
#include <utility>

#include "tree/base/signals.hpp"
#include "tree/io/user/job_control.hpp"

namespace charmtree {

static_assert(signals::kHangup == SIGHUP && signals::kInterrupt == SIGINT && signals::kQuit == SIGQUIT &&
              signals::kKill == SIGKILL && signals::kUser1 == SIGUSR1 && signals::kUser2 == SIGUSR2 &&
              signals::kBrokenPipe == SIGPIPE && signals::kTerminate == SIGTERM &&
              signals::kContinue == SIGCONT && signals::kStop == SIGSTOP &&
              signals::kTerminalStop == SIGTSTP);

namespace {

void wait(io::asio::signal_set& signals, std::function<void(int)> handler) {
  signals.async_wait([&signals, handler = std::move(handler)](io::error_code ec, int signal) {
    if (ec) return;
    if (signal != SIGTSTP || !io::is_alone_on_terminal()) handler(signal);
    wait(signals, handler);
  });
}

void add(io::asio::signal_set& signals, std::initializer_list<int> numbers) {
  for (const int signal : numbers) {
    struct sigaction now {};
    ::sigaction(signal, nullptr, &now);
    if (now.sa_handler != SIG_IGN) signals.add(signal);
  }
}

}  // namespace

void watch_user_signals(io::asio::signal_set& signals, std::function<void(int)> handler) {
  add(signals, {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT, SIGTSTP, SIGCONT});
  wait(signals, std::move(handler));
}

void watch_ending_signals(io::asio::signal_set& signals, std::function<void(int)> handler) {
  add(signals, {SIGINT, SIGTERM, SIGHUP});
  wait(signals, std::move(handler));
}

}  // namespace charmtree
