// SPDX-License-Identifier: Apache-2.0
#include "charmrun/session/background.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include "tree/base/exit_status.hpp"

namespace charmtree {

namespace {

/// What the session writes when it is ready; nothing: it has ended.
std::string read_all(int fd) {
  std::string text;
  std::array<char, 256> part;
  for (;;) {
    const ssize_t size = ::read(fd, part.data(), part.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(size));
  }
}

}  // namespace

Background::Start Background::wait() {
  Start start;
  start.line = read_all(pipe_.get());
  if (!start.line.empty()) return start;
  int status = 0;
  while (::waitpid(session_, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFSIGNALED(status)) start.signal = WTERMSIG(status);
  start.status = WIFEXITED(status) ? WEXITSTATUS(status) : kLauncherFailed;
  return start;
}

Result<Background> Background::begin() {
  std::array<int, 2> ends{-1, -1};
  const pid_t before = ::getpid();
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return Error{Errc::spawn_failed, Phase::spawn, std::string{"++background: "} + std::strerror(errno),
                 "raise ulimit -n"};
  io::UniqueFd reading{ends[0]};
  Background here;
  here.pipe_.reset(ends[1]);
  std::fflush(nullptr);
  here.session_ = ::fork();
  if (here.session_ < 0)
    return Error{Errc::spawn_failed, Phase::spawn, std::string{"++background: "} + std::strerror(errno),
                 "see ulimit -u"};
  if (!here.is_session()) {
    here.pipe_ = std::move(reading);
    return here;
  }
  // Whoever ends the process that waits means the session. A signal from the terminal comes to both.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != before) ::raise(SIGTERM);
  return here;
}

void Background::ready(const std::string& line) {
  if (!pipe_) return;
  ::prctl(PR_SET_PDEATHSIG, 0);
  ::setsid();
  const io::UniqueFd nowhere{::open("/dev/null", O_RDWR | O_CLOEXEC)};
  struct stat error {};
  const bool keeps_error = ::fstat(STDERR_FILENO, &error) == 0 && S_ISREG(error.st_mode);
  ::dup2(nowhere.get(), STDIN_FILENO);
  ::dup2(nowhere.get(), STDOUT_FILENO);
  if (!keeps_error) ::dup2(nowhere.get(), STDERR_FILENO);
  (void)!::write(pipe_.get(), line.data(), line.size());
  pipe_.reset();
}

}  // namespace charmtree
