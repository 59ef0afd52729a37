// SPDX-License-Identifier: Apache-2.0
#include "tree/io/host/cpu_quota.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/io/ssh_fixture.hpp"

namespace charmtree::cpu_quota_test {

using namespace charmtree::io;

namespace {

/// A kernel that shows these groups.
struct Groups : test::TempDir {
  explicit Groups(const std::string& own) { write("own", own); }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path{path(name)}.parent_path());
    std::ofstream{path(name)} << text;
  }
  std::optional<std::uint32_t> quota() const { return cpu_quota({path("own"), path("all")}); }
};

}  // namespace

TEST_CASE("the smallest quota of a group and those above it counts, rounded up", "[cpu_quota]") {
  const Groups second{"0::/pod/job\n"};
  CHECK_FALSE(second.quota());
  second.write("all/pod/job/cpu.max", "max 100000\n");
  CHECK_FALSE(second.quota());
  second.write("all/pod/cpu.max", "250000 100000\n");
  CHECK(second.quota() == 3U);
  second.write("all/pod/job/cpu.max", "50000 100000\n");
  CHECK(second.quota() == 1U);

  const Groups first{"5:memory:/job\n4:cpu,cpuacct:/job\n"};
  first.write("all/cpu/job/cpu.cfs_quota_us", "-1\n");
  first.write("all/cpu/job/cpu.cfs_period_us", "100000\n");
  CHECK_FALSE(first.quota());
  first.write("all/cpu/job/cpu.cfs_quota_us", "200000\n");
  CHECK(first.quota() == 2U);
}

TEST_CASE("a damaged description is none, and a count is limited", "[cpu_quota]") {
  const Groups odd{"0::\nx\n3:cpu\n0::/a\n"};
  odd.write("all/a/cpu.max", "many 100000\n");
  odd.write("all/cpu.max", "100000 0\n");
  CHECK_FALSE(odd.quota());
  proto::CpuMap cpus;
  cpus.pus = {{0}, {1}, {2}, {3}};
  cpus.cores = {{0, 1}, {2, 3}};
  limit_count(cpus, 1);
  CHECK((cpus.pus.size() == 1 && cpus.cores.size() == 1));
  limit_count(cpus, 8);
  CHECK(cpus.pus.size() == 1);
}

}  // namespace charmtree::cpu_quota_test
