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
    CHECK(autopsy.examine(7, SIGSEGV, true, folder).empty());
    put(folder + "/core.7", "x");
    CHECK(autopsy.examine(7, SIGSEGV, true, folder) == "core dumped to " + folder + "/core.7");
    CHECK(autopsy.examine(7, SIGSEGV, false, folder).empty());
    put(pattern, "|/lib/systemd/systemd-coredump %P");
    CHECK(autopsy.examine(7, SIGSEGV, true, folder).find("coredumpctl") != std::string::npos);
    put(pattern, "|/bin/other %P\n");
    CHECK(autopsy.examine(7, SIGSEGV, true, folder) == "core dumped to a program there: /bin/other");
  }
  SECTION("the log, from the beginning of the job on") {
    autopsy.begin("");
    CHECK(autopsy.examine(5, SIGKILL, false, folder).empty());
    std::ofstream(log, std::ios::app) << "3,1,2,-;Out of memory: Killed process 6 (new)\n";
    CHECK(autopsy.examine(6, SIGTERM, false, folder).empty());
    CHECK(autopsy.examine(6, SIGKILL, false, folder).starts_with("out of memory"));
  }
  SECTION("the count of the group above") {
    REQUIRE(std::filesystem::create_directories(below));
    put(group + "/memory.events", "low 0\nhigh 0\nmax 3\noom 1\noom_kill 1\noom_group_kill 0\n");
    autopsy.begin(below);
    CHECK(autopsy.examine(8, SIGKILL, false, folder).empty());
    put(group + "/memory.events", "low 0\nhigh 0\nmax 3\noom 2\noom_kill 2\noom_group_kill 0\n");
    CHECK(autopsy.examine(8, SIGKILL, false, folder).starts_with("out of memory"));
    CHECK(autopsy.examine(9, SIGKILL, false, folder).empty());
  }
  SECTION("nothing can be read") {
    Autopsy blind{{folder + "/no", folder + "/no"}};
    blind.begin("/no/group");
    CHECK(blind.examine(7, SIGKILL, true, folder).empty());
  }
}

}  // namespace charmtree::autopsy_test
