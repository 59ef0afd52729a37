// SPDX-License-Identifier: Apache-2.0
#include "tree/io/guardian.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tree/io/leftovers.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree::io {

namespace {

/// The end of the launcher must be the end of its pipes.
void let_go_of_descriptors() {
  const UniqueFd null{::open("/dev/null", O_RDWR | O_CLOEXEC)};
  for (const int fd : {0, 1, 2}) ::dup2(null.get(), fd);
}

int wait_for(pid_t launcher) {
  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(-1, &status, 0);
    if (ended == launcher || (ended < 0 && errno != EINTR)) return status;
  }
}

void kill_what_is_left() {
  asio::io_context io{1};
  Leftovers leftovers{io};
  leftovers.kill_descendants({}, [](std::uint32_t) {});
  io.run();
}

}  // namespace

std::optional<int> stand_guard() {
  const pid_t guardian = ::getpid();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t launcher = ::fork();
  if (launcher < 0) return {};
  if (launcher == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != guardian) ::raise(SIGTERM);
    return {};
  }
  let_go_of_descriptors();
  const int status = wait_for(launcher);
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  kill_what_is_left();
  ::signal(WTERMSIG(status), SIG_DFL);
  ::raise(WTERMSIG(status));
  return 128 + WTERMSIG(status);
}

}  // namespace charmtree::io
