// SPDX-License-Identifier: Apache-2.0
// What a process that spawn() starts must not do with what is ours.
#include "tree/io/spawn.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "tests/io/ssh_fixture.hpp"
#include "tree/io/process_tree.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree::spawn_test {

using namespace charmtree::io;
using namespace charmtree::io::test;

namespace {

SpawnRequest request_of_true() {
  SpawnRequest request;
  request.program = "true";
  request.arguments = {"true"};
  request.environment = {"PATH=/usr/bin:/bin"};
  return request;
}

volatile std::sig_atomic_t taken = 0;

enum Failure { kNoPipe = 50, kNotStarted, kEndedByIt };

/// In a process group of its own. To all of it comes a signal as soon as somebody writes into the pipe, which
/// the child does between vfork and execve, as that is what `group` has for cgroup.procs. How often a handler
/// has run, the child's memory until then being ours; or a Failure.
int spawn_while_a_signal_comes(const std::string& group) {
  ::setpgid(0, 0);
  struct sigaction action {};
  action.sa_handler = [](int) { taken = taken + 1; };
  ::sigaction(SIGUSR1, &action, nullptr);
  const UniqueFd pipe{::open((group + "/cgroup.procs").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
  const UniqueFd folder{::open(group.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  // The end of the writer is no such event as long as there is another one.
  const UniqueFd writer{::open((group + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC)};
  if (!writer || ::fcntl(pipe.get(), F_SETOWN, -::getpgrp()) != 0 ||
      ::fcntl(pipe.get(), F_SETSIG, SIGUSR1) != 0 || ::fcntl(pipe.get(), F_SETFL, O_ASYNC | O_NONBLOCK) != 0)
    return kNoPipe;
  SpawnRequest request = request_of_true();
  request.cgroup = folder.get();
  const auto pid = spawn(request);
  if (!pid) return kNotStarted;
  int status = 0;
  ::waitpid(*pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? static_cast<int>(taken) : kEndedByIt;
}

}  // namespace

TEST_CASE("a signal to our process group while a process is started is ours, and counts once", "[spawn]") {
  const TempDir temporary;
  REQUIRE(::mkfifo(temporary.path("cgroup.procs").c_str(), 0600) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(spawn_while_a_signal_comes(temporary.path("")));
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 1);
}

TEST_CASE("a process that is held stops before it does anything, traced by nobody, and goes on when told",
          "[spawn]") {
  SpawnRequest request = request_of_true();
  request.held = true;
  const auto pid = spawn(request);
  REQUIRE(pid);
  int status = 0;
  REQUIRE(::waitpid(*pid, &status, WUNTRACED) == *pid);
  CHECK((WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP));
  CHECK(tracer_of(*pid) == 0);
  CHECK(proc_file(*pid, "cmdline") == std::string{"true\0", 5});  // and not ours any more
  ::kill(*pid, SIGCONT);
  REQUIRE(::waitpid(*pid, &status, 0) == *pid);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

TEST_CASE("one that cannot be started is not waited for, held or not", "[spawn]") {
  SpawnRequest request;
  request.program = "/nowhere/at/all";
  request.arguments = {"all"};
  request.held = true;
  const auto pid = spawn(request);
  REQUIRE_FALSE(pid);
  CHECK(pid.error().code == Errc::no_program);
}

}  // namespace charmtree::spawn_test
