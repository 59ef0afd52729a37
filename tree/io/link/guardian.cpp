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
#include "tree/io/passed_descriptor.hpp"
#include "tree/io/process_tree.hpp"
#include "tree/io/socket_folder.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree::io {

namespace {

/// The guardian's descriptors; either may be closed.
struct Watched {
  UniqueFd link;     // its end is the end of the launcher's link
  UniqueFd channel;  // from the launcher
};

/// Closes all but the channel and the input of the launcher's link, so that the launcher's end is the end of
/// its pipes and sockets. Keeps the input only if that is one whose end can be seen.
Watched let_go_of_descriptors(Stdin input, UniqueFd channel) {
  constexpr int kLink = STDERR_FILENO + 1, kChannel = kLink + 1, kOther = kChannel + 1;
  struct stat file {};
  const bool is_link = input == Stdin::link && ::fstat(STDIN_FILENO, &file) == 0 &&
                       (S_ISFIFO(file.st_mode) || S_ISSOCK(file.st_mode));
  channel.reset(::fcntl(channel.get(), F_DUPFD_CLOEXEC, kOther));  // out of the way
  ::close(kLink);
  Watched kept{UniqueFd{is_link ? ::dup3(STDIN_FILENO, kLink, O_CLOEXEC) : -1},
               UniqueFd{::dup3(channel.get(), kChannel, O_CLOEXEC)}};
  channel.release();
  close_from(kOther);
  const UniqueFd null{::open("/dev/null", O_RDWR | O_CLOEXEC)};
  for (const int fd : {0, 1, 2}) ::dup2(null.get(), fd);
  return kept;
}

/// Memory of launcher and guardian. The guardian reads it also after the launcher was killed.
struct Note {
  std::array<char, sizeof(sockaddr_un::sun_path)> socket;
  std::atomic<bool> launchers_live;
  std::atomic<std::uint64_t> signs_of_life;  // counted by the launcher
};

/// The launcher's side: null and closed in a process without a guardian.
struct Guarded {
  Note* note = nullptr;
  UniqueFd channel;  // one byte for each change of the link, with the descriptor of the new one
};
Guarded& guarded() {
  static Guarded own;
  return own;
}

/// Reaps whoever has ended. Something: the launcher is one of them, and this is its status.
std::optional<int> reap_launcher(pid_t launcher) {
  for (int status = 0;;) {
    const pid_t ended = ::waitpid(-1, &status, WNOHANG);
    if (ended == launcher || (ended < 0 && errno != EINTR)) return status;
    if (ended == 0) return {};
  }
}

/// Kills a launcher whose link has ended and that shows no sign of life, whatever the launcher does: it may
/// be stopped, hang in a system call or spin.
class Lookout {
public:
  Lookout(pid_t launcher, const Note& note, Watched watched)
      : launcher_(launcher), note_(note), watched_(std::move(watched)) {}

  /// Waits for a signal that `mask` lets in, the end of the link, a word of the launcher or the next look.
  void wait(const sigset_t& mask) {
    std::array<pollfd, 2> all{pollfd{watched_.link.get(), POLLRDHUP, 0},  // the kernel ignores -1
                              pollfd{watched_.channel.get(), POLLIN, 0}};
    timespec pause{};
    if (looks()) pause.tv_nsec = std::clamp<long>((next_look_ - now()).count(), 0, kLook.count() - 1);
    if (::ppoll(all.data(), all.size(), looks() ? &pause : nullptr, &mask) > 0) {
      if (all[0].revents != 0) lose_link();
      if (all[1].revents != 0) receive();
    }
    if (looks() && now() >= next_look_) look();
  }

private:
  static constexpr Duration kLook = 1s;
  static constexpr int kMaxSilent = 5;  // looks in a row

  bool looks() const { return next_look_ != kNever; }

  void lose_link() {
    watched_.link.reset();
    if (looks()) return;
    seen_ = note_.signs_of_life;
    silent_ = 0;
    next_look_ = now() + kLook;
  }

  void receive() {
    char word = 0;
    UniqueFd passed;
    const ssize_t got = receive_with(watched_.channel.get(), &word, 1, passed);
    if (got < 0 && errno == EINTR) return;
    if (got <= 0) return watched_.channel.reset();  // the launcher has ended
    if (!passed) return lose_link();
    watched_.link = std::move(passed);
    next_look_ = kNever;
  }

  void look() {
    const std::uint64_t signs = note_.signs_of_life;
    silent_ = signs == seen_ ? silent_ + 1 : 0;
    seen_ = signs;
    next_look_ = now() + kLook;
    if (silent_ >= kMaxSilent) ::kill(launcher_, SIGKILL);
  }

  pid_t launcher_;
  const Note& note_;
  Watched watched_;
  Instant next_look_ = kNever;
  std::uint64_t seen_ = 0;
  int silent_ = 0;
};

/// Takes SIGCHLD only while it has nothing to do: none is missed, and nobody wakes us before.
int wait_for(pid_t launcher, Lookout lookout) {
  struct sigaction wake {};
  wake.sa_handler = [](int) {};
  wake.sa_flags = SA_NOCLDSTOP;
  ::sigaction(SIGCHLD, &wake, nullptr);
  sigset_t child, waiting;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child, &waiting);
  sigdelset(&waiting, SIGCHLD);
  for (;;) {
    if (const auto status = reap_launcher(launcher)) return *status;
    lookout.wait(waiting);
  }
}

void clean_up(const Note& note) {
  if (!childless()) {
    asio::io_context io{1};
    Leftovers leftovers{io};
    leftovers.kill_descendants({}, note.launchers_live ? Launchers::live : Launchers::end,
                               [](std::uint32_t, bool) {});
    io.run();
  }
  if (note.socket[0] == '\0') return;
  remove_stale_socket(note.socket.data());
  remove_beside(note.socket.data());
}

}  // namespace

std::optional<int> stand_guard(Stdin input) {
  const pid_t guardian = ::getpid();
  std::array<int, 2> channel{};
  void* const page = ::mmap(nullptr, sizeof(Note), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return {};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel.data()) != 0) return {};
  UniqueFd own{channel[0]}, other{channel[1]};
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t launcher = ::fork();
  if (launcher < 0) return {};
  Note* const note = static_cast<Note*>(page);
  if (launcher == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != guardian) ::raise(SIGTERM);
    guarded() = {note, std::move(other)};
    return {};
  }
  other.reset();
  const int status =
      wait_for(launcher, Lookout{launcher, *note, let_go_of_descriptors(input, std::move(own))});
  clean_up(*note);
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  ::signal(WTERMSIG(status), SIG_DFL);
  ::raise(WTERMSIG(status));
  return status_of_signal(WTERMSIG(status));
}

void leave_to_guardian(const std::string& socket) {
  Note* const note = guarded().note;
  if (note == nullptr || socket.size() >= note->socket.size()) return;
  *std::copy(socket.begin(), socket.end(), note->socket.begin()) = '\0';
}

void spare_launchers() {
  if (guarded().note != nullptr) guarded().note->launchers_live = true;
}

void show_sign_of_life() {
  if (guarded().note != nullptr) ++guarded().note->signs_of_life;
}

void guard_link(int descriptor) {
  const UniqueFd& channel = guarded().channel;
  if (channel) send_with(channel.get(), "+", 1, descriptor, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void end_guarded_link() {
  const UniqueFd& channel = guarded().channel;
  if (channel) ::send(channel.get(), "-", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace charmtree::io
