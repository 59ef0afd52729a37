// SPDX-License-Identifier: Apache-2.0
// A private folder where anybody may make some.
#include "tree/io/socket_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "tests/io/ssh_fixture.hpp"

namespace charmtree::socket_folder_test {

using namespace charmtree::io;
using namespace charmtree::io::test;
namespace fs = std::filesystem;

namespace {

/// No folder of the user's own, which would come first.
struct NoRuntimeFolder {
  NoRuntimeFolder() { ::unsetenv("XDG_RUNTIME_DIR"); }
  ~NoRuntimeFolder() {
    if (!before.empty()) ::setenv("XDG_RUNTIME_DIR", before.c_str(), 1);
  }
  const char* value = ::getenv("XDG_RUNTIME_DIR");
  std::string before = value == nullptr ? "" : value;
};

/// In the place of /tmp.
struct Shared : TempDir {
  std::string place = path("").substr(0, path("").size() - 1);
  std::string usual = place + "/charmtree-" + std::to_string(::geteuid());
};

mode_t mode_of(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 ? info.st_mode : 0;
}

}  // namespace

TEST_CASE("the usual folder is made once", "[socket_folder]") {
  const NoRuntimeFolder none;
  const Shared shared;
  const auto folder = socket_folder(shared.place);
  REQUIRE(folder);
  CHECK(*folder == shared.usual);
  CHECK(mode_of(*folder) == (S_IFDIR | 0700U));
  CHECK(socket_folder(shared.place).value() == *folder);
  CHECK(socket_folders(shared.place) == std::vector{*folder});
}

TEST_CASE("who owns the usual name stops nobody", "[socket_folder]") {
  const NoRuntimeFolder none;
  const Shared shared;
  const std::string &place = shared.place, &usual = shared.usual;
  const auto squat = GENERATE(
      as<std::function<void(const std::string&)>>{},
      [](const std::string& name) { fs::create_symlink("/tmp", name); },
      [](const std::string& name) { fs::create_symlink("nowhere", name); },
      [](const std::string& name) {
        fs::create_directory(name);
        fs::permissions(name, fs::perms::all);
      },
      [](const std::string& name) {
        fs::create_directory(name);
        if (::geteuid() == 0) REQUIRE(::chown(name.c_str(), 1, 1) == 0);
        fs::permissions(name, fs::perms::owner_all | fs::perms::others_exec);
      });
  squat(usual);
  fs::create_directory(usual + "-aaaaaa");  // neither is this one private
  fs::permissions(usual + "-aaaaaa", fs::perms::all);
  const auto folder = socket_folder(place);
  REQUIRE(folder);
  CHECK(folder->starts_with(usual + "-"));
  CHECK(mode_of(*folder) == (S_IFDIR | 0700U));
  CHECK(socket_folder(place).value() == *folder);  // a second launcher needs no other
  CHECK(socket_folders(place) == std::vector{*folder});
}

TEST_CASE("where no folder can be made that is said", "[socket_folder]") {
  const NoRuntimeFolder none;
  const auto folder = socket_folder("/proc/nowhere");
  REQUIRE_FALSE(folder);
  CHECK(folder.error().what.find("/proc/nowhere/charmtree-") == 0);
  CHECK(folder.error().fix == "is /proc/nowhere writable there?");
}

}  // namespace charmtree::socket_folder_test
