// SPDX-License-Identifier: Apache-2.0
// See cgroups(7) and the kernel's cgroup-v2 document: "0::/path" in /proc/self/cgroup is the group, mountinfo
// says where the hierarchy is mounted and which part of it (its root field).
#include "tree/io/host/job_cgroup.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

namespace charmtree::io {

namespace {

/// The group of this process within the v2 hierarchy; empty: none.
std::string own_group(const std::string& cgroup_file) {
  std::ifstream file(cgroup_file);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::")) return line.substr(3);
  }
  return {};
}

struct Mount {
  std::string root, point;
};

/// The mount of the v2 hierarchy that shows `group`.
Mount cgroup2_mount(const std::string& mounts_file, const std::string& group) {
  std::ifstream file(mounts_file);
  for (std::string line; std::getline(file, line);) {
    const std::size_t dash = line.find(" - cgroup2 ");
    if (dash == std::string::npos) continue;
    std::istringstream words(line.substr(0, dash));
    std::string id, parent, device;
    Mount mount;
    words >> id >> parent >> device >> mount.root >> mount.point;
    if (mount.root == "/" || group.starts_with(mount.root)) return mount;
  }
  return {};
}

/// Where the groups are made; it ends in a slash. Empty: nowhere.
std::string own_folder(const std::string& cgroup_file, const std::string& mounts_file) {
  const std::string group = own_group(cgroup_file);
  const Mount mount = group.empty() ? Mount{} : cgroup2_mount(mounts_file, group);
  if (mount.point.empty()) return {};
  const std::string below = mount.root == "/" ? group : group.substr(mount.root.size());
  return mount.point + below + (below.ends_with('/') ? "" : "/");
}

std::string name_of(const std::string& job, std::uint32_t host) {
  return fmt::format("charmtree-{}-{}-", job, host);
}

bool write_one(const std::string& path) {
  const UniqueFd file{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
  return file && ::write(file.get(), "1", 1) == 1;
}

}  // namespace

JobCgroup JobCgroup::of(const std::string& job, std::uint32_t host, const std::string& cgroup_file,
                        const std::string& mounts_file) {
  JobCgroup result;
  const std::string folder = own_folder(cgroup_file, mounts_file);
  if (!folder.empty()) result.path_ = fmt::format("{}{}{}", folder, name_of(job, host), ::getpid());
  return result;
}

std::vector<JobCgroup> JobCgroup::left(const std::string& job, std::uint32_t host,
                                       const std::string& cgroup_file, const std::string& mounts_file) {
  std::vector<JobCgroup> groups;
  const std::string folder = own_folder(cgroup_file, mounts_file), name = name_of(job, host);
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    if (!entry.path().filename().native().starts_with(name)) continue;
    groups.emplace_back();
    groups.back().path_ = entry.path();
  }
  return groups;
}

bool JobCgroup::make() {
  if (path_.empty() || refused_) return false;
  if (::mkdir(path_.c_str(), 0755) != 0) {
    refused_ = errno != EEXIST;  // else something of an earlier run is left in it
    return false;
  }
  folder_.reset(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  refused_ = ::access((path_ + "/cgroup.procs").c_str(), W_OK) != 0;
  if (refused_) ::rmdir(path_.c_str());
  return !refused_;
}

bool JobCgroup::kill() {
  return !path_.empty() && !refused_ && write_one(path_ + "/cgroup.kill");
}

void JobCgroup::remove() {
  folder_.reset();
  if (!path_.empty() && !refused_) ::rmdir(path_.c_str());
}

}  // namespace charmtree::io
