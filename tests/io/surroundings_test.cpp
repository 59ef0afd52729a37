// SPDX-License-Identifier: Apache-2.0
#include "tree/io/surroundings.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "tests/io/ssh_fixture.hpp"

namespace charmtree::surroundings_test {

using namespace charmtree::io;
using namespace charmtree::io::test;

namespace {

/// PATH for as long as it lives.
class Path {
public:
  explicit Path(const std::string& value) : before_(std::getenv("PATH")) {
    ::setenv("PATH", value.c_str(), 1);
  }
  ~Path() { ::setenv("PATH", before_.c_str(), 1); }
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;

private:
  std::string before_;
};

}  // namespace

TEST_CASE("the candidates for a program are those of execvp", "[surroundings]") {
  using Files = std::vector<std::string>;
  CHECK(program_candidates("ls", "/a:/b/c") == Files{"/a/ls", "/b/c/ls"});
  CHECK(program_candidates("ls", ":/a:") == Files{"./ls", "/a/ls", "./ls"});
  CHECK(program_candidates("ls", "").size() == 3);
  CHECK(program_candidates("./ls", "/a") == Files{"./ls"});
  CHECK(program_candidates("/bin/ls", "/a") == Files{"/bin/ls"});
}

TEST_CASE("a program is a file that can be executed", "[surroundings]") {
  const TempDir directory;
  const std::string first = directory.path("first"), second = directory.path("second");
  for (const std::string& folder : {first, second}) REQUIRE(::mkdir(folder.c_str(), 0700) == 0);
  REQUIRE(::mkdir((first + "/tool").c_str(), 0700) == 0);  // passes an X_OK check
  const std::string tool = directory.write("second/tool", "#!/bin/sh\n");
  const Path path{first + ":" + second};

  CHECK(find_program("tool").empty());
  REQUIRE(::chmod(tool.c_str(), 0700) == 0);
  CHECK(find_program("tool") == tool);
  CHECK(find_program(tool) == tool);
  CHECK(find_program(first + "/tool").empty());
  CHECK(find_program("no-such-tool").empty());
}

TEST_CASE("a file is read whole or not at all", "[surroundings]") {
  const TempDir directory;
  std::string text(200'000, 'x');
  text[70'000] = '\0';
  const std::string file = directory.write("file", text);

  CHECK(*read_file(file, text.size()) == text);
  CHECK(read_file(file, text.size() - 1).error().what == file + " is longer than 199999 bytes");
  CHECK(read_file("/dev/zero", 1U << 20).error().what == "/dev/zero is longer than 1 MiB");
  CHECK(read_file(directory.path("none"), 1).error().what.ends_with("none: No such file or directory"));
  CHECK(read_file("/", 1).error().what == "cannot read /: Is a directory");
  CHECK(read_file("/proc/self/stat", 4096)->starts_with(std::to_string(::getpid()) + " ("));
}

TEST_CASE("the ends of a pipe are not inherited, and block unless told otherwise", "[surroundings]") {
  auto pipe = open_pipe();
  REQUIRE(pipe);
  for (const int fd : {pipe->read_end.get(), pipe->write_end.get()}) {
    CHECK(::fcntl(fd, F_GETFD) == FD_CLOEXEC);
    CHECK((::fcntl(fd, F_GETFL) & O_NONBLOCK) == 0);
  }
  set_non_blocking(pipe->read_end.get());
  char byte = 0;
  CHECK(::read(pipe->read_end.get(), &byte, 1) == -1);
  CHECK(errno == EAGAIN);
  CHECK(::write(pipe->write_end.get(), "a", 1) == 1);
  CHECK(::read(pipe->read_end.get(), &byte, 1) == 1);
}

TEST_CASE("this process knows its host and its environment", "[surroundings]") {
  CHECK_FALSE(own_host_name().empty());
  const Path path{"/only/this"};
  const auto all = own_environment();
  CHECK(std::count(all.begin(), all.end(), "PATH=/only/this") == 1);
}

}  // namespace charmtree::surroundings_test
