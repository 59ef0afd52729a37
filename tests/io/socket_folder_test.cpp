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

/// The folder of the user's own, which comes first; empty: there is none.
struct RuntimeFolder {
  explicit RuntimeFolder(const std::string& folder = {}) {
    folder.empty() ? ::unsetenv("XDG_RUNTIME_DIR") : ::setenv("XDG_RUNTIME_DIR", folder.c_str(), 1);
  }
  ~RuntimeFolder() {
    before.empty() ? ::unsetenv("XDG_RUNTIME_DIR") : ::setenv("XDG_RUNTIME_DIR", before.c_str(), 1);
  }
  const char* value = ::getenv("XDG_RUNTIME_DIR");
  std::string before = value == nullptr ? "" : value;
};

/// In the place of /tmp.
struct Shared : TempDir {
  std::string place = path("").substr(0, path("").size() - 1);
  std::string usual = place + "/charmtree-" + std::to_string(::geteuid());
};

/// A folder that takes all, or none whose path is longer than that.
Result<std::string> folder_in(const std::string& shared, std::size_t longest = 1000) {
  const auto use = [&](const std::string& folder) -> Result<void> {
    if (folder.size() <= longest) return {};
    return Error{Errc::spawn_failed, Phase::spawn, "too long", {}};
  };
  const auto found = socket_folder(use, shared);
  return found ? Result<std::string>{found->path + found->remark} : Result<std::string>{found.error()};
}

mode_t mode_of(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 ? info.st_mode : 0;
}

}  // namespace

TEST_CASE("the usual folder is made once", "[socket_folder]") {
  const RuntimeFolder none;
  const Shared shared;
  const auto folder = folder_in(shared.place);
  REQUIRE(folder);
  CHECK(*folder == shared.usual);
  CHECK(mode_of(*folder) == (S_IFDIR | 0700U));
  CHECK(folder_in(shared.place).value() == *folder);
  CHECK(socket_folders(shared.place) == std::vector{*folder});
}

TEST_CASE("who owns the usual name stops nobody", "[socket_folder]") {
  const RuntimeFolder none;
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
  const auto folder = folder_in(place);
  REQUIRE(folder);
  CHECK(folder->starts_with(usual + "-"));
  CHECK(mode_of(*folder) == (S_IFDIR | 0700U));
  CHECK(folder_in(place).value() == *folder);  // a second launcher needs no other
  CHECK(socket_folders(place) == std::vector{*folder});
}

TEST_CASE("where no folder can be made that is said", "[socket_folder]") {
  const RuntimeFolder none;
  const auto folder = folder_in("/proc/nowhere");
  REQUIRE_FALSE(folder);
  CHECK(folder.error().what.find("/proc/nowhere/charmtree-") == 0);
  CHECK(folder.error().fix == "is /proc/nowhere writable there?");
}

TEST_CASE("a folder that cannot be used is passed over for the next one, which is remarked",
          "[socket_folder]") {
  const Shared shared, runtime;
  const RuntimeFolder own{runtime.place + "/" + std::string(100, 'a')};
  const std::string first = std::string{::getenv("XDG_RUNTIME_DIR")} + "/charmtree";
  SECTION("its path is too long") {
    fs::create_directory(::getenv("XDG_RUNTIME_DIR"));
    CHECK(folder_in(shared.place, 100).value() ==
          shared.usual + "XDG_RUNTIME_DIR does not take the sockets of processes (too long); they are in " +
              shared.usual);
    CHECK(folder_in(shared.place).value() == first);
    const auto none = folder_in(shared.place, 0);
    REQUIRE_FALSE(none);
    CHECK(none.error().what == "too long; XDG_RUNTIME_DIR does not take the sockets of processes (too long)");
    CHECK(socket_folders(shared.place) == std::vector{first, shared.usual});  // no others were left
  }
  SECTION("something else is there") {
    fs::create_directory(::getenv("XDG_RUNTIME_DIR"));
    fs::create_symlink("/tmp", first);
    CHECK(folder_in(shared.place).value() ==
          shared.usual + "XDG_RUNTIME_DIR does not take the sockets of processes (" + first +
              ": not a private folder); they are in " + shared.usual);
  }
  SECTION("it is not there") {
    CHECK(folder_in(shared.place).value() == shared.usual);
  }
}

TEST_CASE("a folder that is gone is made again", "[socket_folder]") {
  const RuntimeFolder none;
  const Shared shared;
  const std::string folder = folder_in(shared.place).value();
  fs::remove_all(folder);
  CHECK(folder_in(shared.place).value() == folder);
  CHECK(mode_of(folder) == (S_IFDIR | 0700U));
}

}  // namespace charmtree::socket_folder_test
