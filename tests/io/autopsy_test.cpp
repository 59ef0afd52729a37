// SPDX-License-Identifier: Apache-2.0
#include "tree/io/host/autopsy.hpp"

#include <catch2/catch.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/io/ssh_fixture.hpp"

namespace charmtree::autopsy_test {

using namespace charmtree::io;
using namespace charmtree::io::test;

namespace {

void put(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::trunc) << text;
}

std::string told(Autopsy& autopsy, const Autopsy::Death& death) {
  return autopsy.examine(death).told;
}

}  // namespace

TEST_CASE("a record of the kernel's log names whom it has killed for want of memory", "[autopsy]") {
  CHECK(oom_victim("3,1,2,-;Out of memory: Killed process 4711 (app) total-vm:1kB, anon-rss:1kB") == 4711);
  CHECK(oom_victim("3,1,2,-;Memory cgroup out of memory: Killed process 12 (a b) total-vm:1kB") == 12);
  CHECK(oom_victim("6,1,2,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),task=x,pid=99,uid=0") == 99);
  CHECK(oom_victim("6,1,2,-;audit: pid=7 killed") == 0);
  CHECK(oom_victim("") == 0);
}

TEST_CASE("a pattern for core files is looked for with what is known of the process", "[autopsy]") {
  CHECK(core_glob("core", 12, 11) == "core");
  CHECK(core_glob("/var/c[x]/core.%e.%p.%s%%", 12, 11) == "/var/c\\[x]/core.*.12.11%");
  CHECK(core_glob("core.%", 12, 11) == "core.");
  CHECK(core_glob("|/usr/bin/handler %p", 12, 11).empty());
}

TEST_CASE("the core file, the kernel's log and the group's count are told", "[autopsy]") {
  const TempDir temporary;
  const std::string folder = temporary.path("home");
  REQUIRE(std::filesystem::create_directories(folder));
  const std::string log = folder + "/log", pattern = folder + "/pattern";
  const std::string group = folder + "/group", below = group + "/below";
  put(pattern, "core.%p\n");
  put(log, "3,1,2,-;Out of memory: Killed process 5 (old)\n");
  Autopsy autopsy{{log, pattern}};
  SECTION("a core file") {
    autopsy.begin("");
    CHECK(told(autopsy, {3, 7, SIGSEGV, true, folder, 0}).empty());
    put(folder + "/core.7", "x");
    CHECK(told(autopsy, {3, 7, SIGSEGV, true, folder, 0}) == "core dumped to " + folder + "/core.7");
    CHECK(autopsy.examine({3, 7, SIGSEGV, true, folder, 0}).core_file == folder + "/core.7");
    REQUIRE((autopsy.cores().size() == 1 && autopsy.cores().at(3).pid == 7));
    autopsy.forget(3);
    CHECK(autopsy.cores().empty());
    CHECK(told(autopsy, {3, 7, SIGTERM, false, folder, 0}).empty());
    CHECK(told(autopsy, {3, 7, SIGSEGV, false, folder, 0}).find("limit there is 0") != std::string::npos);
    CHECK(told(autopsy, {3, 7, SIGABRT, false, folder, 1}).find("core_pattern: core.%p") !=
          std::string::npos);
    put(pattern, "|/lib/systemd/systemd-coredump %P");
    CHECK(told(autopsy, {3, 7, SIGSEGV, true, folder, 0}).find("coredumpctl") != std::string::npos);
    CHECK(autopsy.examine({3, 7, SIGSEGV, true, folder, 0}).core_file.empty());
    CHECK(told(autopsy, {3, 7, SIGSEGV, false, folder, 0}).find("systemd-coredump there takes") !=
          std::string::npos);
    put(pattern, "|/bin/other %P\n");
    CHECK(told(autopsy, {3, 7, SIGSEGV, true, folder, 0}) == "core dumped to a program there: /bin/other");
  }
  SECTION("the log, from the beginning of the job on") {
    autopsy.begin("");
    CHECK(told(autopsy, {3, 5, SIGKILL, false, folder, 0}).empty());
    std::ofstream(log, std::ios::app) << "3,1,2,-;Out of memory: Killed process 6 (new)\n";
    CHECK(told(autopsy, {3, 6, SIGTERM, false, folder, 0}).empty());
    CHECK(told(autopsy, {3, 6, SIGKILL, false, folder, 0}).starts_with("out of memory"));
  }
  SECTION("the count of the group above") {
    REQUIRE(std::filesystem::create_directories(below));
    put(group + "/memory.events", "low 0\nhigh 0\nmax 3\noom 1\noom_kill 1\noom_group_kill 0\n");
    autopsy.begin(below);
    CHECK(told(autopsy, {3, 8, SIGKILL, false, folder, 0}).empty());
    put(group + "/memory.events", "low 0\nhigh 0\nmax 3\noom 2\noom_kill 2\noom_group_kill 0\n");
    CHECK(told(autopsy, {3, 8, SIGKILL, false, folder, 0}).starts_with("out of memory"));
    CHECK(told(autopsy, {3, 9, SIGKILL, false, folder, 0}).empty());
  }
  SECTION("nothing can be read") {
    Autopsy blind{{folder + "/no", folder + "/no"}};
    blind.begin("/no/group");
    CHECK(told(blind, {3, 7, SIGKILL, true, folder, 0}).empty());
  }
}

}  // namespace charmtree::autopsy_test
