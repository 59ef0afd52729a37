// SPDX-License-Identifier: Apache-2.0
#include "tree/io/ssh/ssh_ask.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "tree/base/exit_status.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/spawn.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/job/environment.hpp"

namespace charmtree::io {

namespace {

struct Child {
  std::size_t index = 0;
  pid_t pid = -1;
  int fd = -1;
};

int ms_until(Instant deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - now()).count();
  return static_cast<int>(std::clamp<long long>(left + 1, 0, 60'000));
}

/// fd -1: could not be started.
Child start(std::size_t index, const std::vector<std::string>& command) {
  Child child;
  child.index = index;
  auto pipe = open_pipe();
  if (!pipe) return child;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe->write_end.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, pipe->write_end.get(), 2);
  posix_spawnattr_t signals;  // as spawn() leaves them
  posix_spawnattr_init(&signals);
  posix_spawnattr_setflags(&signals, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  sigset_t usual;
  sigemptyset(&usual);
  posix_spawnattr_setsigmask(&signals, &usual);
  sigaddset(&usual, SIGPIPE);
  sigaddset(&usual, SIGXFSZ);
  posix_spawnattr_setsigdefault(&signals, &usual);
  const std::vector<char*> argv = pointers(command);
  const std::vector<std::string> environment = proto::without_loader_variables(own_environment());
  const std::vector<char*> variables = pointers(environment);
  const int error = posix_spawnp(&child.pid, argv[0], &actions, &signals, argv.data(), variables.data());
  posix_spawnattr_destroy(&signals);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) child.fd = pipe->read_end.release();
  return child;
}

/// The end of a child whose output has ended: it exits by itself within the deadline, or it is killed.
void reap(const Child& child, Instant deadline, CommandAnswer& answer) {
  close(child.fd);
  int status = 0;
  bool killed = false;
  for (;;) {
    const pid_t got = waitpid(child.pid, &status, killed ? 0 : WNOHANG);
    if (got < 0 && errno == EINTR) continue;
    if (got != 0) break;
    if (now() >= deadline) {
      kill(child.pid, SIGKILL);  // ours and not yet reaped
      killed = true;
    } else {
      poll(nullptr, 0, 1);
    }
  }
  answer.finished = !killed;
  answer.status = WIFEXITED(status) ? WEXITSTATUS(status) : status_of_signal(WTERMSIG(status));
}

}  // namespace

std::vector<CommandAnswer> run_commands(const std::vector<std::vector<std::string>>& commands,
                                        Duration limit) {
  std::vector<CommandAnswer> answers(commands.size());
  const Instant deadline = now() + limit;
  std::vector<Child> running;
  std::size_t next = 0;
  while (next < commands.size() || !running.empty()) {
    while (next < commands.size() && running.size() < kAsksAtATime && now() < deadline) {
      const Child child = start(next, commands[next]);
      ++next;
      if (child.fd >= 0) running.push_back(child);
    }
    if (now() >= deadline) next = commands.size();
    std::vector<pollfd> wanted;
    wanted.reserve(running.size());
    for (const Child& child : running) wanted.push_back({child.fd, POLLIN, 0});
    if (!wanted.empty()) poll(wanted.data(), wanted.size(), ms_until(deadline));
    for (std::size_t i = wanted.size(); i-- > 0;) {
      CommandAnswer& answer = answers[running[i].index];
      std::array<char, 16 * 1024> part;
      const ssize_t got = wanted[i].revents != 0 ? read(running[i].fd, part.data(), part.size()) : -1;
      if (got > 0)
        answer.output.append(part.data(), std::min<std::size_t>(static_cast<std::size_t>(got),
                                                                kMaxAnswerBytes - answer.output.size()));
      if (got != 0 && now() < deadline) continue;
      reap(running[i], deadline, answer);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return answers;
}

}  // namespace charmtree::io
