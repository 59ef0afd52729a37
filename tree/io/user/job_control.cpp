// SPDX-License-Identifier: Apache-2.0
#include "tree/io/user/job_control.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "tree/io/process_tree.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree::io {

bool is_alone_on_terminal() {
  const UniqueFd terminal{::open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC)};
  const pid_t group = ::getpgrp();
  if (!terminal || ::tcgetpgrp(terminal.get()) != group) return false;
  const pid_t session = ::getsid(0);
  // The shell is the first ancestor in another group of our session.
  for (pid_t pid = ::getppid(); pid > 0 && ::getsid(pid) == session; pid = stat_of(pid).parent) {
    if (::getpgid(pid) != group) return false;
  }
  return true;
}

}  // namespace charmtree::io
