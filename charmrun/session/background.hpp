// SPDX-License-Identifier: Apache-2.0
// ++background: a session of which the shell sees just the start. What is said until it is ready comes as
// ever; then it leaves the terminal, and the process that the user has started prints its number and ends.
#pragma once

#include <sys/types.h>

#include <string>

#include "tree/base/result.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree {

class Background {
public:
  /// Becomes two processes: the session's, and the one that the user has started, which is to call wait().
  /// Before there are threads. Error spawn_failed.
  static Result<Background> begin();
  bool is_session() const { return session_ == 0; }
  /// How the start of the session went: the line of ready(), or, if that is empty, how the session has ended.
  struct Start {
    std::string line;
    int status = 0, signal = 0;
  };
  Start wait();
  /// All is ready: `line` is what the user gets on stdout. stdin and stdout lead nowhere from now on, and
  /// neither does stderr unless it is a file.
  void ready(const std::string& line);

private:
  pid_t session_ = 0;  // 0: that is us
  io::UniqueFd pipe_;  // of ready(); the other process reads it
};

}  // namespace charmtree
