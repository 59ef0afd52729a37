// SPDX-License-Identifier: Apache-2.0
// The files of jobs in a cache on a real disk.
#include "tree/io/host/staged_cache.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "tests/io/ssh_fixture.hpp"
#include "tree/base/hexadecimal.hpp"
#include "tree/io/digest.hpp"

namespace charmtree::staged_cache_test {

using namespace charmtree::io;
using charmtree::io::test::TempDir;
namespace fs = std::filesystem;

namespace {

std::string digest_of(const std::string& text) {
  Digest digest;
  digest.add(text);
  return digest.end();
}

wire::StagedFile file(std::string name, const std::string& text, bool executable = false) {
  return {std::move(name), "/from/here", text.size(), digest_of(text), executable ? 0500U : 0400U};
}

std::string text_of(const std::string& path) {
  std::ifstream in{path};
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// A user whose home is empty.
struct User : TempDir {
  User() { ::setenv("HOME", home().c_str(), 1); }
  ~User() { ::setenv("HOME", before.c_str(), 1); }
  std::string home() const { return path("").substr(0, path("").size() - 1); }
  std::string cache() const { return home() + "/.cache/charmtree-files"; }
  std::string content(const wire::StagedFile& of) const {
    return fmt::format("{}/contents/{}-{:o}-{}", cache(), hexadecimal(of.digest), of.mode, of.modified);
  }
  std::string part(const wire::StagedFile& of) const {
    return fmt::format("{}/contents/{}.part", cache(), hexadecimal(of.digest));
  }
  std::string before = ::getenv("HOME") == nullptr ? "" : ::getenv("HOME");
};

/// A launcher's hands.
struct Host {
  staging::FilesFound find(std::vector<wire::StagedFile> files, bool at_root = false) {
    cache.execute(staging::FindFiles{
        std::make_shared<wire::StagedFiles>(wire::StagedFiles{std::move(files), {}}), at_root});
    return get<staging::FilesFound>(answer());
  }
  staging::FileWritten write(std::uint32_t number, std::uint64_t offset, std::string bytes) {
    cache.execute(staging::WritePiece{number, offset, std::move(bytes)});
    return get<staging::FileWritten>(answer());
  }
  staging::PieceRead read(std::uint32_t number, std::uint64_t offset, std::uint32_t size) {
    cache.execute(staging::ReadPiece{7, number, offset, size});
    return get<staging::PieceRead>(answer());
  }
  proto::Event answer() {
    REQUIRE(answers.size() == 1);
    proto::Event first = std::move(answers.front());
    answers.clear();
    return first;
  }
  std::vector<proto::Event> answers;
  StagedCache cache{[this](proto::Event event) { answers.push_back(std::move(event)); }};
};

using Held = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("a file comes, is read while it comes, and is there for the next job", "[staged_cache]") {
  const User user;
  Host host;
  const auto wanted = file("bin/0/app", "#!/bin/sh\n", true);
  CHECK(host.find({wanted}).held == Held{0});
  CHECK(host.write(0, 0, {}).held == 0);
  CHECK(host.write(0, 0, "#!/bin").held == 6);
  CHECK(host.read(0, 2, 4).bytes == "/bin");
  CHECK(host.write(0, 6, "/sh\n").held == 10);
  const std::string path = host.cache.folder() + "/bin/0/app";
  CHECK(text_of(path) == "#!/bin/sh\n");
  CHECK(host.read(0, 0, 10).bytes == "#!/bin/sh\n");
  struct stat about {};
  REQUIRE(::stat(path.c_str(), &about) == 0);
  CHECK((about.st_mode & 07777) == 0500);
  Host next;
  CHECK(next.find({wanted}).held == Held{10});
  CHECK(next.cache.folder() == host.cache.folder());
  Host other;  // under another name, in another job
  CHECK(other.find({file("files/b", "#!/bin/sh\n", true)}).held == Held{10});
  CHECK(text_of(other.cache.folder() + "/files/b") == "#!/bin/sh\n");
  CHECK(Host{}.find({file("files/b", "#!/bin/sh\n", false)}).held == Held{0});  // no program
}

TEST_CASE("a file keeps its date and who may read it, and nobody may write to it", "[staged_cache]") {
  const User user;
  Host host;
  auto wanted = file("files/a", "abc");
  wanted.mode = 0646;
  wanted.modified = 1'700'000'000;
  host.find({wanted});
  CHECK(host.write(0, 0, "abc").held == 3);
  struct stat about {};
  REQUIRE(::stat((host.cache.folder() + "/files/a").c_str(), &about) == 0);
  CHECK(((about.st_mode & 07777) == 0444 && about.st_mtim.tv_sec == 1'700'000'000));
  auto later = wanted;
  later.modified += 1;
  CHECK(Host{}.find({later}).held == Held{0});
  CHECK(Host{}.find({wanted}).held == Held{3});
}

TEST_CASE("an empty file is there at once", "[staged_cache]") {
  const User user;
  Host host;
  CHECK(host.find({file("files/a/b", "")}).held == Held{0});
  CHECK(fs::exists(host.cache.folder() + "/files/a/b"));
}

TEST_CASE("what was begun goes on; what is wrong or too long begins anew", "[staged_cache]") {
  const User user;
  const auto wanted = file("files/a", "0123456789");
  Host{}.find({wanted});
  const auto leave = [&](const std::string& text) { std::ofstream{user.part(wanted)} << text; };
  SECTION("right") {
    leave("01234");
    Host host;
    CHECK(host.find({wanted}).held == Held{0});
    CHECK(host.write(0, 0, {}).held == 5);
    CHECK(host.write(0, 5, "56789").held == 10);
  }
  SECTION("wrong") {
    leave("x1234");
    Host host;
    host.find({wanted});
    CHECK(host.write(0, 0, {}).held == 5);
    CHECK(host.write(0, 5, "56789").held == 0);
    CHECK_FALSE(fs::exists(user.content(wanted)));
    CHECK(host.write(0, 0, "0123456789").held == 10);
  }
  SECTION("too long") {
    leave("0123456789 and more");
    Host host;
    host.find({wanted});
    CHECK(host.write(0, 0, {}).held == 0);
    CHECK(host.write(0, 0, "0123456789").held == 10);
  }
  SECTION("all of it") {
    leave("0123456789");
    Host host;
    host.find({wanted});
    CHECK(host.write(0, 0, {}).held == 10);
  }
  CHECK(text_of(user.content(wanted)) == "0123456789");
}

TEST_CASE("two launchers of a host get the same file beside each other", "[staged_cache]") {
  const User user;
  const auto wanted = file("files/a", "0123456789");
  Host one, other;
  one.find({wanted});
  other.find({wanted});
  one.write(0, 0, "01234");
  CHECK(other.write(0, 0, "012").held == 3);
  CHECK(one.write(0, 5, "56789").held == 10);
  CHECK(other.write(0, 3, "3456789").held == 10);
  CHECK(text_of(user.content(wanted)) == "0123456789");
  CHECK(std::distance(fs::directory_iterator{user.cache() + "/contents"}, {}) == 1);
}

TEST_CASE("no name leads out of the job's folder", "[staged_cache]") {
  const User user;
  for (const char* name : {"", ".", "..", "/etc/x", "../x", "a/../../x", "a//b", "./a", "a/"}) {
    CAPTURE(name);
    CHECK(Host{}.find({file(name, "text")}).error);
  }
  CHECK_FALSE(Host{}.find({file("a..b/...c", "text")}).error);
}

TEST_CASE("a link in the place of a file or a folder is not followed", "[staged_cache]") {
  const User user;
  const auto wanted = file("files/a", "text");
  Host{}.find({wanted});
  std::ofstream{user.path("theirs")} << "text";
  ::symlink(user.path("theirs").c_str(), user.content(wanted).c_str());
  Host host;
  CHECK(host.find({wanted}).held == Held{0});
  ::symlink(user.path("theirs").c_str(), (user.part(wanted)).c_str());
  const auto written = host.write(0, 0, {});
  REQUIRE(written.error);
  CHECK(written.error->what.find(".part") != std::string::npos);
}

TEST_CASE("what a program has changed comes anew", "[staged_cache]") {
  const User user;
  const auto wanted = file("files/a", "0123456789");
  Host first;
  first.find({wanted});
  first.write(0, 0, "0123456789");
  const std::string path = first.cache.folder() + "/files/a";
  const auto put = [](const std::string& where, const std::string& text) { std::ofstream{where} << text; };
  SECTION("another file in its place") {
    fs::remove(path);
    put(path, "9876543210");
    CHECK(Host{}.find({wanted}).held == Held{10});
  }
  SECTION("a shorter one in its place") {
    fs::remove(path);
    put(path, "98");
    CHECK(Host{}.find({wanted}).held == Held{10});
  }
  SECTION("itself, by who may do anything") {
    fs::permissions(path, fs::perms::owner_write, fs::perm_options::add);
    put(path, "9876543210");
    Host next;
    CHECK(next.find({wanted}).held == Held{0});
    CHECK(next.write(0, 0, "0123456789").held == 10);
  }
  CHECK(text_of(path) == "0123456789");
  CHECK(Host{}.find({wanted}).held == Held{10});
}

TEST_CASE("a file that has become shorter is not read for ever", "[staged_cache]") {
  const User user;
  const auto wanted = file("files/a", "0123456789");
  Host host;
  host.find({wanted});
  host.write(0, 0, "0123456789");
  fs::permissions(host.cache.folder() + "/files/a", fs::perms::owner_write, fs::perm_options::add);
  std::ofstream{host.cache.folder() + "/files/a"} << "01";
  REQUIRE(host.read(0, 0, 10).error);
}

TEST_CASE("the last jobs stay, and those that run", "[staged_cache]") {
  const User user;
  const auto number = [](int i) { return file("files/a", "job " + std::to_string(i)); };
  Host running;
  running.find({number(0)});
  running.write(0, 0, "job 0");
  const auto age = [&](const std::string& folder, std::time_t seconds) {
    const timespec times[2] = {{seconds, 0}, {seconds, 0}};
    ::utimensat(AT_FDCWD, folder.c_str(), times, 0);
  };
  std::vector<std::string> folders{running.cache.folder()};
  struct stat about {};
  REQUIRE(::stat(user.cache().c_str(), &about) == 0);
  const std::time_t now = about.st_mtime;
  age(folders[0], now - 1000);
  for (int i = 1; i <= 10; ++i) {
    Host host;
    host.find({number(i)});
    host.write(0, 0, "job " + std::to_string(i));
    folders.push_back(host.cache.folder());
    age(folders.back(), now - 100 + i);
  }
  age(folders[10], now - 31 * 24 * 60 * 60);
  std::ofstream{user.cache() + "/contents/old.part"} << "begun";
  age(user.cache() + "/contents/old.part", now - 8 * 24 * 60 * 60);
  Host last;
  last.find({number(11)});
  CHECK(fs::exists(folders[0]));
  for (int i = 1; i <= 2; ++i) CHECK_FALSE(fs::exists(folders[i]));
  for (int i = 3; i <= 9; ++i) CHECK(fs::exists(folders[i]));
  CHECK_FALSE(fs::exists(folders[10]));
  CHECK(fs::exists(last.cache.folder()));
  CHECK_FALSE(fs::exists(user.cache() + "/contents/old.part"));
  CHECK(fs::exists(user.content(number(9))));
}

TEST_CASE("the root reads its own files, and sees that one is gone or shorter", "[staged_cache]") {
  const User user;
  std::ofstream{user.path("a")} << "0123456789";
  wire::StagedFile wanted = file("files/a", "0123456789");
  wanted.source = user.path("a");
  wire::StagedFile gone = wanted;
  gone.source = user.path("gone");
  Host host;
  CHECK(host.find({wanted, gone}, true).held == Held{10, 10});
  CHECK_FALSE(fs::exists(user.cache()));
  CHECK(host.read(0, 3, 4).bytes == "3456");
  std::ofstream{user.path("a")} << "012";
  REQUIRE(host.read(0, 0, 10).error);
  CHECK(host.read(0, 0, 10).error->what.ends_with("has become shorter"));
  REQUIRE(host.read(1, 0, 10).error);
  CHECK(host.read(1, 0, 10).error->what.ends_with("gone: No such file or directory"));
}

}  // namespace charmtree::staged_cache_test
