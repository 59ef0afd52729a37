// SPDX-License-Identifier: Apache-2.0
// The file of the history: where it is, who may read it, and that nothing about it can go wrong for the user.
#include "charmrun/plan/history_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/io/ssh_fixture.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree::history_file_test {

using namespace charmtree::io::test;

namespace {

const std::vector<LoginSample> kLogins{{"ssh n#", 100ms}, {"ssh n#", 200ms}};

mode_t mode_of(const std::string& path) {
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  return info.st_mode & 07777;
}

std::size_t entries_of(const std::string& folder) {
  const std::filesystem::directory_iterator all{folder};
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

}  // namespace

TEST_CASE("the file's place follows the XDG rules", "[history]") {
  CHECK(history_path("/state", "/home/me") == "/state/charmtree/history.json");
  CHECK(history_path("", "/home/me") == "/home/me/.local/state/charmtree/history.json");
  CHECK(history_path("relative", "/home/me") == "/home/me/.local/state/charmtree/history.json");
  CHECK(history_path("", "").empty());
  CHECK(remember_logins("", kLogins, 1ms).empty());
}

TEST_CASE("launches add up in a private file", "[history]") {
  const TempDir home;
  const std::string path = history_path("", home.path(""));
  CHECK(read_history(path).note.empty());
  CHECK(remember_logins(path, {}, 1ms).empty());
  CHECK(entries_of(home.path("")) == 0);  // nothing to remember, nothing made

  for (int launch = 1; launch <= 3; ++launch) CHECK(remember_logins(path, kLogins, 2ms).empty());

  const HistoryRead read = read_history(path);
  CHECK(read.note.empty());
  REQUIRE(read.history.find("ssh n#") != nullptr);
  CHECK(read.history.find("ssh n#")->logins == 6);
  CHECK(mode_of(path) == 0600);
  CHECK(mode_of(home.path(".local/state/charmtree")) == 0700);
  CHECK(entries_of(home.path(".local/state/charmtree")) == 2);  // and the lock: no temporary file is left
}

TEST_CASE("a broken file is ignored with a note, and replaced", "[history]") {
  const TempDir home;
  const std::string path = history_path(home.path(""), "");
  REQUIRE(remember_logins(path, kLogins, 2ms).empty());
  std::filesystem::resize_file(path, 10);
  CHECK(read_history(path).note == path + ": not a history of logins; ignored");
  CHECK(read_history(path).history.patterns().empty());

  CHECK(remember_logins(path, kLogins, 2ms).empty());
  CHECK(read_history(path).history.find("ssh n#")->logins == 2);
}

TEST_CASE("what is no file is not waited for", "[history]") {
  const TempDir home;
  const std::string path = home.path("charmtree/history.json");
  REQUIRE(::mkdir(home.path("charmtree").c_str(), 0700) == 0);
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(read_history(path).note == path + ": not a file; ignored");
  REQUIRE(::unlink(path.c_str()) == 0);
  REQUIRE(::mkdir(path.c_str(), 0700) == 0);
  CHECK(read_history(path).note == path + ": not a file; ignored");
  CHECK_FALSE(remember_logins(path, kLogins, 2ms).empty());  // a folder is in the way: said under ++verbose
  CHECK(entries_of(home.path("charmtree")) == 2);
}

TEST_CASE("a home that is missing, strange or read-only is silent", "[history]") {
  const TempDir home;
  CHECK(remember_logins(home.path("gone/x/.local/state/charmtree/history.json"), kLogins, 2ms).empty());
  CHECK(entries_of(home.path("")) == 0);
  CHECK(remember_logins("/proc/charmtree/history.json", kLogins, 2ms).empty());
  const std::string file = home.write("plain", "text");
  CHECK(remember_logins(file + "/charmtree/history.json", kLogins, 2ms).empty());
  CHECK(read_history(file + "/charmtree/history.json").note.empty());
  if (::geteuid() != 0) return;
  REQUIRE(::mkdir(home.path("other").c_str(), 0755) == 0);
  REQUIRE(::chown(home.path("other").c_str(), 65534, 65534) == 0);
  CHECK(remember_logins(home.path("other/charmtree/history.json"), kLogins, 2ms).empty());
  CHECK(entries_of(home.path("other")) == 0);  // another user's
}

TEST_CASE("while another launch writes, this one does not wait", "[history]") {
  const TempDir home;
  const std::string path = history_path(home.path(""), "");
  REQUIRE(remember_logins(path, kLogins, 2ms).empty());
  const io::UniqueFd lock{::open((path + ".lock").c_str(), O_RDWR | O_CLOEXEC)};
  REQUIRE(::flock(lock.get(), LOCK_EX) == 0);

  CHECK(remember_logins(path, kLogins, 2ms).empty());

  CHECK(read_history(path).history.find("ssh n#")->logins == 2);
}

}  // namespace charmtree::history_file_test
