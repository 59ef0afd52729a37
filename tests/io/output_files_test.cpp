// SPDX-License-Identifier: Apache-2.0
#include "tree/io/user/output_files.hpp"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace charmtree::output_files_test {

using namespace charmtree::io;

namespace {

struct Folder {
  Folder() {
    std::string name = "/tmp/output_files.XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name + "/";
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

std::string text_of(const std::string& path) {
  std::stringstream text;
  text << std::ifstream{path}.rdbuf();
  return text.str();
}

struct Bench {
  asio::io_context io;
  int told = 0;
  OutputFiles files{io, [] {}, [this] { ++told; }};
};

}  // namespace

TEST_CASE("files are emptied first, folders are made, bytes are appended", "[output_files]") {
  Folder folder;
  const std::string old = folder.path + "old", deep = folder.path + "a/b/0.out";
  std::ofstream{old} << "of the last job";
  Bench bench;
  bench.files.write(old, "");
  for (const char* text : {"one\n", "two\n"}) bench.files.write(deep, text);
  REQUIRE(bench.files.drain(10s));
  CHECK(text_of(old).empty());
  CHECK(text_of(deep) == "one\ntwo\n");
  CHECK(bench.files.failures() == 0);
}

TEST_CASE("more files than may be open at a time lose nothing", "[output_files]") {
  Folder folder;
  Bench bench;
  const auto path = [&](std::size_t i) { return folder.path + std::to_string(i); };
  for (const char* text : {"one\n", "two\n"}) {
    for (std::size_t i = 0; i < OutputFiles::kMostOpen + 10; ++i) bench.files.write(path(i), text);
  }
  REQUIRE(bench.files.drain(60s));
  for (std::size_t i = 0; i < OutputFiles::kMostOpen + 10; ++i) CHECK(text_of(path(i)) == "one\ntwo\n");
}

TEST_CASE("a file that cannot be written is given up with one word, the others go on", "[output_files]") {
  Folder folder;
  Bench bench;
  bench.files.write("/dev/full", "x");
  bench.files.write("/dev/full", "y");
  bench.files.write(folder.path, "a folder is no file");
  bench.files.write(folder.path + "good", "z");
  bool confirmed = false;
  bench.files.confirm([&] { confirmed = true; });
  REQUIRE(bench.files.drain(10s));
  bench.io.run();
  CHECK(bench.told == 2);
  CHECK(bench.files.failures() == 2);
  const auto failure = bench.files.first_failure();
  REQUIRE(failure);
  CHECK((failure->path == "/dev/full" && failure->error == ENOSPC));
  CHECK(text_of(folder.path + "good") == "z");
  CHECK(confirmed);
}

}  // namespace charmtree::output_files_test
