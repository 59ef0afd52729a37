// SPDX-License-Identifier: Apache-2.0
#include "tree/io/link/guardian.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <utility>

#include "tree/base/exit_status.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/descriptors.hpp"
#include "tree/io/link/leftovers.hpp"
#include "tree/io/listener.hpp"
#include "tree/io/process_tree.hpp"
#include "tree/io/socket_folder.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree::io {

namespace {

/// The end of the launcher must be the end of its pipes and sockets. Returns the input of its link, if that
/// is one whose end can be seen.
UniqueFd let_go_of_descriptors(Stdin input) {
  constexpr int kLink = STDERR_FILENO + 1;
  struct stat file {};
  const bool is_link = input == Stdin::link && ::fstat(STDIN_FILENO, &file) == 0 &&
                       (S_ISFIFO(file.st_mode) || S_ISSOCK(file.st_mode));
  UniqueFd link{is_link ? ::dup3(STDIN_FILENO, kLink, O_CLOEXEC) : -1};
  close_from(link ? kLink + 1 : kLink);
  const UniqueFd null{::open("/dev/null", O_RDWR | O_CLOEXEC)};
  for (const int fd : {0, 1, 2}) ::dup2(null.get(), fd);
  return link;
}

/// What a launcher has to tell its guardian, also before it is killed, in memory that both see; null: there
/// is none.
struct Note {
  std::array<char, sizeof(sockaddr_un::sun_path)> socket;
  std::atomic<bool> link_replaced, launchers_live;
};
Note* note() {
  static void* const page =
      ::mmap(nullptr, sizeof(Note), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? nullptr : static_cast<Note*>(page);
}

/// Reaps whoever has ended. Something: the launcher is one of them, and this is its status.
std::optional<int> reap_launcher(pid_t launcher) {
  for (int status = 0;;) {
    const pid_t ended = ::waitpid(-1, &status, WNOHANG);
    if (ended == launcher || (ended < 0 && errno != EINTR)) return status;
    if (ended == 0) return {};
  }
}

/// Nobody else may be left to end a launcher that is stopped while its link ends: one that runs sees to that
/// itself.
class Lookout {
public:
  Lookout(pid_t launcher, UniqueFd link) : launcher_(launcher), link_(std::move(link)) {}

  /// Until a signal that `mask` lets in, the end of the link or the next look.
  void wait(const sigset_t& mask) {
    pollfd link{link_.get(), POLLRDHUP, 0};  // -1, which none is, has no events
    timespec pause{};
    if (looks()) pause.tv_nsec = std::clamp<long>((next_look_ - now()).count(), 0, kLook.count() - 1);
    ::ppoll(&link, 1, looks() ? &pause : nullptr, &mask);
    if (link.revents != 0) {
      link_.reset();
      next_look_ = now();
    }
    if (looks() && now() >= next_look_) look();
  }

private:
  static constexpr Duration kLook = 1s;
  static constexpr int kMostStopped = 5;  // looks in a row behind the first

  bool looks() const { return next_look_ != kNever; }

  void look() {
    next_look_ = note() != nullptr && note()->link_replaced ? kNever : now() + kLook;
    stopped_ = looks() && stat_of(launcher_).state == 'T' ? stopped_ + 1 : 0;
    if (stopped_ > kMostStopped) ::kill(launcher_, SIGKILL);
  }

  pid_t launcher_;
  UniqueFd link_;  // until it has ended
  Instant next_look_ = kNever;
  int stopped_ = 0;  // looks in a row
};

/// Takes SIGCHLD only while it has nothing to do: none is missed, and nobody wakes us before.
int wait_for(pid_t launcher, UniqueFd link) {
  struct sigaction wake {};
  wake.sa_handler = [](int) {};
  wake.sa_flags = SA_NOCLDSTOP;
  ::sigaction(SIGCHLD, &wake, nullptr);
  sigset_t child, waiting;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child, &waiting);
  sigdelset(&waiting, SIGCHLD);
  Lookout lookout{launcher, std::move(link)};
  for (;;) {
    if (const auto status = reap_launcher(launcher)) return *status;
    lookout.wait(waiting);
  }
}

void clean_up() {
  if (!childless()) {
    asio::io_context io{1};
    Leftovers leftovers{io};
    const bool live = note() != nullptr && note()->launchers_live;
    leftovers.kill_descendants({}, live ? Launchers::live : Launchers::end, [](std::uint32_t, bool) {});
    io.run();
  }
  if (note() == nullptr || note()->socket[0] == '\0') return;
  remove_stale_socket(note()->socket.data());
  remove_beside(note()->socket.data());
}

}  // namespace

std::optional<int> stand_guard(Stdin input) {
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
  const int status = wait_for(launcher, let_go_of_descriptors(input));
  clean_up();
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  ::signal(WTERMSIG(status), SIG_DFL);
  ::raise(WTERMSIG(status));
  return status_of_signal(WTERMSIG(status));
}

void leave_to_guardian(const std::string& socket) {
  if (note() != nullptr && socket.size() < note()->socket.size())
    std::copy(socket.begin(), socket.end(), note()->socket.begin());
}

void spare_launchers() {
  if (note() != nullptr) note()->launchers_live = true;
}

void replace_guarded_link() {
  if (note() != nullptr) note()->link_replaced = true;
}

}  // namespace charmtree::io
