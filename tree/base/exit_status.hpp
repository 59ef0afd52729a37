// SPDX-License-Identifier: Apache-2.0
// What charmrun ends with when it is not the program that says it; as timeout(1), env(1) and shells do.
#pragma once

namespace charmtree {

inline constexpr int kTimeLimit = 124, kLauncherFailed = 125, kNotExecutable = 126, kNotFound = 127;

/// Of a program that this signal has ended.
constexpr int status_of_signal(int signal) {
  return 128 + signal;
}

}  // namespace charmtree
