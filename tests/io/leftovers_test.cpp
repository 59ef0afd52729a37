// SPDX-License-Identifier: Apache-2.0
// What a sweep finds on a host whose launcher and guardian have been killed.
#include "tree/io/link/leftovers.hpp"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/io/ssh_fixture.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/process_tree.hpp"

namespace charmtree::leftovers_test {

using namespace charmtree::io;
using namespace charmtree::io::test;
namespace fs = std::filesystem;

namespace {

constexpr Duration kPatience = 30s;
constexpr uid_t kSomebody = 64'123;

/// Until it is a zombie or gone. False: in vain.
bool until_dead(pid_t pid) {
  const Instant end = now() + kPatience;
  while (now() < end) {
    const ProcessStat stat = stat_of(pid);
    if (stat.parent == 0 || stat.state == 'Z') return true;
    ::waitpid(-1, nullptr, WNOHANG);
  }
  return false;
}

/// A file that somebody else writes, one line.
std::string until_written(const std::string& path) {
  const Instant end = now() + kPatience;
  std::string line;
  while (now() < end) {
    std::ifstream file{path};
    if (std::getline(file, line) && !file.eof()) return line;
  }
  return {};
}

/// What is wrong, as a number; 0: nothing. Runs as an ordinary user. A program that may be executed and not
/// read is an orphan in the session of one that carries the mark: nobody may read its environment.
int sweep_a_session(const std::string& folder) {
  const std::string program = folder + "/quiet", pid_file = folder + "/pid";
  fs::copy_file("/bin/sleep", program);
  ::chmod(program.c_str(), 0111);
  ::setenv("CHARMTREE_JOB", "swept-job:3", 1);
  const std::string script = "( " + program + " 1000 & echo $! >" + pid_file + " ); exec sleep 1000";
  const pid_t leader = ::fork();
  if (leader == 0) {
    ::setsid();
    ::execl("/bin/sh", "sh", "-c", script.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::unsetenv("CHARMTREE_JOB");
  const pid_t orphan = std::atoi(until_written(pid_file).c_str());
  if (orphan <= 0) return 2;
  const Instant end = now() + kPatience;
  const auto waits = [&] {  // both programs are what they are to be
    return proc_file(leader, "cmdline").starts_with("sleep") &&
           proc_file(orphan, "cmdline").starts_with(program);
  };
  while (!waits() && now() < end) {
  }
  if (!proc_file(orphan, "environ").empty()) return 3;
  asio::io_context io{1};
  Leftovers leftovers{io};
  std::uint32_t killed = 0;
  bool all = false;
  leftovers.kill_marked("swept-job:3", [&](std::uint32_t number, bool none_left) {
    killed = number;
    all = none_left;
  });
  io.run();
  const bool dead = until_dead(leader) && stat_of(orphan).state != 'S';
  ::kill(orphan, SIGKILL);
  return !dead ? 4 : killed != 2 ? 5 : all ? 0 : 6;
}

}  // namespace

TEST_CASE("a sweep finds programs that cannot be read in the sessions of those that carry the mark",
          "[leftovers]") {
  std::string folder = fs::temp_directory_path() / "charmtree-io-XXXXXX";
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const bool is_root = ::geteuid() == 0;
  if (is_root) REQUIRE(::chown(folder.c_str(), kSomebody, kSomebody) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const bool ordinary = !is_root || (::setresgid(kSomebody, kSomebody, kSomebody) == 0 &&
                                       ::setresuid(kSomebody, kSomebody, kSomebody) == 0);
    ::_exit(ordinary ? sweep_a_session(folder) : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  fs::remove_all(folder);
  CHECK(status == 0);
}

}  // namespace charmtree::leftovers_test
