// SPDX-License-Identifier: Apache-2.0
#include "tree/io/guardian.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "tree/io/door.hpp"
#include "tree/io/leftovers.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree::io {

namespace {

/// The end of the launcher must be the end of its pipes and sockets.
void let_go_of_descriptors() {
  ::closefrom(STDERR_FILENO + 1);
  const UniqueFd null{::open("/dev/null", O_RDWR | O_CLOEXEC)};
  for (const int fd : {0, 1, 2}) ::dup2(null.get(), fd);
}

/// What a launcher has to tell its guardian before it is killed, in memory that both see; null: there is
/// none.
struct Note {
  std::array<char, sizeof(sockaddr_un::sun_path)> socket;
};
Note* note() {
  static void* const page =
      ::mmap(nullptr, sizeof(Note), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? nullptr : static_cast<Note*>(page);
}

int wait_for(pid_t launcher) {
  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(-1, &status, 0);
    if (ended == launcher || (ended < 0 && errno != EINTR)) return status;
  }
}

void clean_up() {
  if (!childless()) {
    asio::io_context io{1};
    Leftovers leftovers{io};
    leftovers.kill_descendants({}, [](std::uint32_t, bool) {});
    io.run();
  }
  if (note() != nullptr && note()->socket[0] != '\0') remove_stale_socket(note()->socket.data());
}

}  // namespace

std::optional<int> stand_guard() {
  const pid_t guardian = ::getpid();
  note();  // made before there are two who would each make their own
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
  clean_up();
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  ::signal(WTERMSIG(status), SIG_DFL);
  ::raise(WTERMSIG(status));
  return 128 + WTERMSIG(status);
}

void leave_to_guardian(const std::string& socket) {
  if (note() != nullptr && socket.size() < note()->socket.size())
    std::copy(socket.begin(), socket.end(), note()->socket.begin());
}

}  // namespace charmtree::io
