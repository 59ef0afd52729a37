// SPDX-License-Identifier: Apache-2.0
// Signals of a thread, held back for a while.
#pragma once

#include <pthread.h>

#include <csignal>

namespace charmtree::io {

/// While it lives, its thread does not take these signals. Threads that are started meanwhile never do:
/// signals are the main thread's.
class SignalsBlocked {
public:
  /// All of them.
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  explicit SignalsBlocked(int signal) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    ::pthread_sigmask(SIG_BLOCK, &one, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
  sigset_t before_;
};

}  // namespace charmtree::io
