// SPDX-License-Identifier: Apache-2.0
#include "tree/io/stacks/core_stack.hpp"

#include <catch2/catch.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/io/ssh_fixture.hpp"
#include "tree/io/surroundings.hpp"

namespace charmtree::core_stack_test {

using namespace charmtree::io;
using charmtree::io::test::TempDir;

namespace {

[[gnu::noinline]] void fall_over() {
  ::raise(SIGSEGV);
  asm volatile("");  // optimised builds would jump there, and leave no frame of this function
}

/// Dies there, with a core file if the kernel writes such into the working directory.
pid_t crash_in(const std::string& folder) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const rlimit all{RLIM_INFINITY, RLIM_INFINITY};
    ::setrlimit(RLIMIT_CORE, &all);
    ::signal(SIGSEGV, SIG_DFL);
    if (::chdir(folder.c_str()) == 0) fall_over();
    ::_exit(1);
  }
  ::waitpid(pid, nullptr, 0);
  return pid;
}

std::string only_file_in(const std::string& folder) {
  const std::filesystem::directory_iterator files{folder};
  return files == end(files) ? std::string{} : files->path().string();
}

bool refused(const Result<Crash>& crash, std::string_view why) {
  return !crash && crash.error().what.find(why) != std::string::npos;
}

}  // namespace

TEST_CASE("a core file tells where its process has crashed", "[stacks]") {
  const TempDir temporary;
  const std::string folder = temporary.path("work");
  REQUIRE(std::filesystem::create_directories(folder));
  const pid_t pid = crash_in(folder);
  const std::string path = only_file_in(folder);
  if (path.empty()) {
    WARN("the kernel writes core files elsewhere");
    return;
  }
  const auto crash = read_core({pid, path});
  REQUIRE(crash);
  const stacks::Frames& frames = crash->stack.native;
  const auto here = std::find_if(frames.begin(), frames.end(), [](const std::string& frame) {
    return frame.find("core_stack_test") != std::string::npos && frame.ends_with("fall_over");
  });
  CHECK(here != frames.end());
  CHECK(std::find(frames.begin(), here, "main") != here);
  CHECK(crash->source.starts_with("core_stack_test.cpp:"));
  CHECK(refused(read_core({pid + 1, path}), "of another process"));

  SECTION("cut short, it says so or tells the same") {
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 3);
    const auto part = read_core({pid, path});
    CHECK((part || part.error().what.starts_with(path)));
  }
  SECTION("a link is not followed") {
    std::filesystem::create_symlink(path, folder + "/link");
    CHECK(refused(read_core({pid, folder + "/link"}), "cannot be read"));
  }
  SECTION("another user's is not read") {
    if (::geteuid() != 0) return;
    REQUIRE(::chown(path.c_str(), 65534, 65534) == 0);
    CHECK(refused(read_core({pid, path}), "not a file of this user"));
  }
}

TEST_CASE("what is no core file is refused", "[stacks]") {
  const TempDir temporary;
  const std::string path = temporary.path("core");
  std::ofstream(path) << "no core file at all";
  CHECK(refused(read_core({1, path}), "not a whole core file"));
  CHECK(refused(read_core({1, "/proc/self/exe"}), "cannot be read"));
  std::filesystem::copy_file("/proc/self/exe", path, std::filesystem::copy_options::overwrite_existing);
  CHECK_FALSE(read_core({1, path}));
  CHECK(refused(read_core({1, temporary.path("nothing")}), "cannot be read"));
}

}  // namespace charmtree::core_stack_test
