// SPDX-License-Identifier: Apache-2.0
// Spool files on a real disk.
#include "tree/io/host/spool_file.hpp"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <optional>
#include <vector>

namespace charmtree::spool_file_test {

using namespace charmtree::io;

namespace {

/// A spool whose file is in `folder`.
struct Controller {
  explicit Controller(const std::string& folder = "/tmp") { ::setenv("TMPDIR", folder.c_str(), 1); }
  ~Controller() { ::unsetenv("TMPDIR"); }

  proto::Spooled write(std::uint64_t offset, std::string bytes) {
    file.execute(proto::SpoolWrite{offset, std::make_shared<const std::string>(std::move(bytes))});
    return get<proto::Spooled>(answer());
  }
  proto::Unspooled read(std::uint64_t offset, std::size_t size, bool last = false) {
    file.execute(proto::SpoolRead{offset, size, last});
    return get<proto::Unspooled>(answer());
  }
  proto::Event answer() {
    while (answers.empty()) io.run_one();
    proto::Event first = std::move(answers.front());
    answers.erase(answers.begin());
    return first;
  }

  asio::io_context io;
  asio::executor_work_guard<asio::io_context::executor_type> guard{io.get_executor()};
  std::vector<proto::Event> answers;
  SpoolFile file{io, [this](proto::Event event) { answers.push_back(std::move(event)); }};
};

/// Bytes in the files without a name that this process has open; nothing if it has none.
std::optional<std::uintmax_t> unnamed_bytes() {
  std::optional<std::uintmax_t> bytes;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(entry.path(), gone);
    if (gone || !target.string().ends_with(" (deleted)")) continue;
    bytes = bytes.value_or(0) + std::filesystem::file_size(entry.path(), gone);
  }
  return bytes;
}

/// Files of this process grow no further.
struct SmallFiles {
  explicit SmallFiles(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before);
    const rlimit small{bytes, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallFiles() { ::setrlimit(RLIMIT_FSIZE, &before); }
  rlimit before{};
};

}  // namespace

TEST_CASE("what is spooled comes back, and its room is given back", "[spool_file]") {
  const auto before = unnamed_bytes();
  {
    Controller controller;
    CHECK(unnamed_bytes() == before);  // none is made before it is needed
    CHECK(controller.write(0, "one\n").failure.empty());
    CHECK(controller.write(4, std::string(100000, 'x')).failure.empty());
    CHECK(unnamed_bytes() == before.value_or(0) + 100004);
    CHECK(controller.read(0, 4).bytes == "one\n");
    CHECK(controller.write(0, "two\n").failure.empty());
    CHECK(controller.read(4, 100000).bytes == std::string(100000, 'x'));
    CHECK(controller.read(0, 4, true).bytes == "two\n");
    CHECK(unnamed_bytes() == before.value_or(0));
  }
  CHECK(unnamed_bytes() == before);
}

TEST_CASE("what is handed out is carried out in order", "[spool_file]") {
  Controller controller;
  controller.file.execute(proto::SpoolWrite{0, std::make_shared<const std::string>("first")});
  controller.file.execute(proto::SpoolRead{0, 5, false});
  controller.file.execute(proto::SpoolWrite{0, std::make_shared<const std::string>("again")});
  controller.file.execute(proto::SpoolRead{0, 5, true});
  CHECK(get<proto::Spooled>(controller.answer()).failure.empty());
  CHECK(get<proto::Unspooled>(controller.answer()).bytes == "first");
  CHECK(get<proto::Spooled>(controller.answer()).failure.empty());
  CHECK(get<proto::Unspooled>(controller.answer()).bytes == "again");
}

TEST_CASE("what the disk refuses is told with the place and the reason", "[spool_file]") {
  CHECK(Controller{"/nowhere/at/all"}.write(0, "x").failure == "/nowhere/at/all: No such file or directory");
  Controller controller;
  REQUIRE(controller.write(0, "a word").failure.empty());
  {
    const SmallFiles small{4096};
    CHECK(controller.write(6, std::string(8192, 'x')).failure ==
          "/tmp: larger than files may be (ulimit -f)");
  }
  CHECK(controller.read(0, 6).bytes == "a word");
  const auto beyond = controller.read(4000, 8192);
  CHECK(beyond.bytes.empty());
  CHECK(beyond.failure == "/tmp: the file is too short");
}

}  // namespace charmtree::spool_file_test
