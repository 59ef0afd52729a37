// SPDX-License-Identifier: Apache-2.0
#include "tree/io/host/job_cgroup.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>

namespace charmtree::job_cgroup_test {

using charmtree::io::JobCgroup;
namespace fs = std::filesystem;

namespace {
/// A folder in place of the hierarchy: groups in it are plain folders.
struct Hierarchy {
  std::string point = fs::temp_directory_path() / fmt::format("charmtree-groups-{}", ::getpid());
  std::string cgroup = point + "/cgroup", mounts = point + "/mounts";
  Hierarchy() {
    fs::create_directories(point + "/own");
    std::ofstream{cgroup} << "0::/own\n";
    std::ofstream{mounts} << "30 24 0:26 / " << point << " rw - cgroup2 cgroup2 rw\n";
  }
  ~Hierarchy() { fs::remove_all(point); }
  JobCgroup of(const std::string& job, std::uint32_t host) const {
    return JobCgroup::of(job, host, cgroup, mounts);
  }
};
}  // namespace

TEST_CASE("each launcher has a group of its own, and who sweeps its host finds all", "[cgroup]") {
  const Hierarchy there;
  const std::set<std::string> of_host{there.of("job", 1).path(),
                                      there.point + "/own/charmtree-job-1-99999999"};
  CHECK(of_host.size() == 2);
  for (const std::string& path : of_host) fs::create_directory(path);
  for (const JobCgroup& other : {there.of("job", 12), there.of("bob", 1)}) fs::create_directory(other.path());

  std::set<std::string> found;
  for (JobCgroup& group : JobCgroup::left("job", 1, there.cgroup, there.mounts)) {
    found.insert(group.path());
    group.remove();
  }
  CHECK(found == of_host);
  CHECK(JobCgroup::left("job", 1, there.cgroup, there.mounts).empty());
  CHECK(JobCgroup::left("job", 12, there.cgroup, there.mounts).size() == 1);
}

TEST_CASE("where a group cannot be made it is not tried again, but beside what a run has left", "[cgroup]") {
  const Hierarchy there;
  fs::remove(there.point + "/own");
  JobCgroup nowhere = there.of("job", 1);
  CHECK(!nowhere.make());
  fs::create_directory(there.point + "/own");
  CHECK(!nowhere.make());
  CHECK(!fs::exists(nowhere.path()));

  JobCgroup left = there.of("job", 2);
  fs::create_directory(left.path());
  CHECK(!left.make());
  left.remove();
  CHECK(!fs::exists(left.path()));
}

}  // namespace charmtree::job_cgroup_test
