// SPDX-License-Identifier: Apache-2.0
// What a process that spawn() starts must not do with what is ours.
#include "tree/io/spawn.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "tree/io/surroundings.hpp"

using namespace charmtree::io;

namespace {

volatile std::sig_atomic_t taken = 0;

enum Failure { kNoPipe = 50, kNotStarted, kEndedByIt };

/// In a process group of its own. To all of it comes a signal as soon as somebody writes into the pipe, which
/// the child does between vfork and execve, as it would into the file of its cgroup. How often a handler has
/// run, the child's memory until then being ours; or a Failure.
int spawn_while_a_signal_comes() {
  ::setpgid(0, 0);
  struct sigaction action {};
  action.sa_handler = [](int) { taken = taken + 1; };
  ::sigaction(SIGUSR1, &action, nullptr);
  const auto pipe = open_pipe();
  if (!pipe || ::fcntl(pipe->read_end.get(), F_SETOWN, -::getpgrp()) != 0 ||
      ::fcntl(pipe->read_end.get(), F_SETSIG, SIGUSR1) != 0 ||
      ::fcntl(pipe->read_end.get(), F_SETFL, O_ASYNC) != 0)
    return kNoPipe;
  SpawnRequest request;
  request.program = "true";
  request.arguments = {"true"};
  request.environment = {"PATH=/usr/bin:/bin"};
  request.cgroup = pipe->write_end.get();
  const auto pid = spawn(request);
  if (!pid) return kNotStarted;
  int status = 0;
  ::waitpid(*pid, &status, 0);
  const int so_far = taken;  // the end of the pipe is another such event
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? so_far : kEndedByIt;
}

}  // namespace

TEST_CASE("a signal to our process group while a process is started is ours, and counts once", "[spawn]") {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(spawn_while_a_signal_comes());
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 1);
}
