// SPDX-License-Identifier: Apache-2.0
// A control group (v2) for the processes of a job on this host, where the launcher's own group is writable
// (root, or delegated as systemd does for user sessions). What is in it can be killed whole, also what has
// daemonised and cleared its environment, and also after the launcher itself was killed. Where there is none,
// the other ways (leftovers.hpp) must do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tree/io/unique_fd.hpp"

namespace charmtree::io {

class JobCgroup {
public:
  /// The group <own group>/charmtree-<job>-<host>-<pid>, of this launcher alone; `cgroup_file` and
  /// `mounts_file` are for tests.
  static JobCgroup of(const std::string& job, std::uint32_t host,
                      const std::string& cgroup_file = "/proc/self/cgroup",
                      const std::string& mounts_file = "/proc/self/mountinfo");
  /// Those that launchers of this host have made and not removed.
  static std::vector<JobCgroup> left(const std::string& job, std::uint32_t host,
                                     const std::string& cgroup_file = "/proc/self/cgroup",
                                     const std::string& mounts_file = "/proc/self/mountinfo");

  JobCgroup() = default;
  /// Makes the group; without effect where that is not allowed. True if processes can be put into it.
  bool make();
  /// Its folder, open; -1: there is no group. Owned by this object.
  int folder() const { return folder_.get(); }
  /// Kills everything in the group. False if there is no such group or the kernel cannot (before 5.14).
  bool kill();
  /// Removes the group; it must be empty to go.
  void remove();
  const std::string& path() const { return path_; }

private:
  std::string path_;  // empty: no control groups here
  UniqueFd folder_;
  bool refused_ = false;  // it cannot be made here, now or later
};

}  // namespace charmtree::io
