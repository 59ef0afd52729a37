// SPDX-License-Identifier: Apache-2.0
#include "tree/io/process_tree.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <functional>
#include <sstream>

#include "tree/io/surroundings.hpp"

namespace charmtree::io {

namespace {

constexpr std::size_t kMaxProcFile = 64U << 20;  // an environment has 6 MiB at most

/// The names in a folder that are numbers.
std::vector<pid_t> numbers_in(const std::string& path) {
  std::vector<pid_t> numbers;
  DIR* folder = ::opendir(path.c_str());
  if (folder == nullptr) return numbers;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string name = entry->d_name;
    if (!name.empty() &&
        std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; })) {
      numbers.push_back(static_cast<pid_t>(std::stol(name)));
    }
  }
  ::closedir(folder);
  return numbers;
}

/// The first number in a line of /proc/PID/status, which begins with `name`.
std::optional<unsigned long> number_in_status(pid_t pid, std::string_view name) {
  const std::string text = proc_file(pid, "status");
  const std::string line = fmt::format("\n{}:\t", name);
  const std::size_t at = text.find(line);
  if (at == std::string::npos) return {};
  return std::strtoul(text.c_str() + at + line.size(), nullptr, 10);
}

std::vector<pid_t> children_by_scan(pid_t parent) {
  std::vector<pid_t> children;
  for (const pid_t pid : all_processes()) {
    if (stat_of(pid).parent == parent) children.push_back(pid);
  }
  return children;
}

std::vector<pid_t> children_of(pid_t parent) {
  const std::string folder = fmt::format("/proc/{}/task", parent);
  if (::access(fmt::format("{0}/{1}/children", folder, parent).c_str(), R_OK) != 0) {
    return ::access(folder.c_str(), F_OK) == 0 ? children_by_scan(parent) : std::vector<pid_t>{};
  }
  std::vector<pid_t> children;
  for (const pid_t task : numbers_in(folder)) {
    std::ifstream list(fmt::format("{}/{}/children", folder, task));
    for (pid_t pid = 0; list >> pid;) children.push_back(pid);
  }
  return children;
}

bool holds_socket(pid_t pid, const std::string& name) {
  const std::string folder = fmt::format("/proc/{}/fd", pid);
  const std::vector<pid_t> fds = numbers_in(folder);
  return std::any_of(fds.begin(), fds.end(), [&](int fd) {
    std::array<char, 64> target;
    const ssize_t size = ::readlink(fmt::format("{}/{}", folder, fd).c_str(), target.data(), target.size());
    return size > 0 && std::string_view{target.data(), static_cast<std::size_t>(size)} == name;
  });
}

}  // namespace

std::string proc_file(pid_t pid, const char* name) {
  auto text = read_file(fmt::format("/proc/{}/{}", pid, name), kMaxProcFile);
  return text ? std::move(*text) : std::string{};
}

std::vector<pid_t> all_processes() {
  return numbers_in("/proc");
}

/// The program's name, in parentheses, may hold anything; behind it the fields are words, from the third on.
ProcessStat stat_of(pid_t pid) {
  constexpr int kFirst = 3, kParent = 4, kSession = 6, kUserTime = 14, kSystemTime = 15, kStarted = 22,
                kWaitStatus = 52;
  const std::string text = proc_file(pid, "stat");
  const std::size_t at = text.rfind(')');
  ProcessStat stat;
  if (at == std::string::npos) return stat;
  std::istringstream words{text.substr(at + 1)};
  std::string word;
  for (int field = kFirst; words >> word; ++field) {
    if (field == kFirst) stat.state = word[0];
    if (field == kParent) stat.parent = static_cast<pid_t>(std::strtol(word.c_str(), nullptr, 10));
    if (field == kSession) stat.session = static_cast<pid_t>(std::strtol(word.c_str(), nullptr, 10));
    if (field == kUserTime || field == kSystemTime) stat.computed += std::strtoull(word.c_str(), nullptr, 10);
    if (field == kStarted) stat.started = std::strtoull(word.c_str(), nullptr, 10);
    if (field == kWaitStatus) stat.wait_status = static_cast<int>(std::strtol(word.c_str(), nullptr, 10));
  }
  return stat;
}

pid_t worker_of(pid_t root) {
  constexpr int kDeepest = 16;
  for (int depth = 0; depth < kDeepest; ++depth) {
    const std::string call = proc_file(root, "syscall");  // "61 0x..."; "running"
    const long number = std::strtol(call.c_str(), nullptr, 10);
    if (number != SYS_wait4 && number != SYS_waitid) return root;
    const std::vector<pid_t> children = children_of(root);
    if (children.size() != 1) return root;
    root = children.front();
  }
  return root;
}

std::optional<uid_t> user_of(pid_t pid) {
  const auto uid = number_in_status(pid, "Uid");
  return uid ? std::optional<uid_t>{static_cast<uid_t>(*uid)} : std::nullopt;
}

pid_t tracer_of(pid_t pid) {
  return static_cast<pid_t>(number_in_status(pid, "TracerPid").value_or(0));
}

std::array<bool, 2> outputs_on(dev_t device, pid_t pid) {
  std::array<bool, 2> on{};
  for (std::size_t i = 0; i < on.size(); ++i) {
    struct stat file {};
    on[i] = ::stat(fmt::format("/proc/{}/fd/{}", pid, i + 1).c_str(), &file) == 0 && S_ISCHR(file.st_mode) &&
            file.st_rdev == device;
  }
  return on;
}

void add_descendants(pid_t root, const std::set<pid_t>& spared, std::set<pid_t>& found) {
  for (const pid_t child : children_of(root)) {
    if (!spared.contains(child) && found.insert(child).second) add_descendants(child, spared, found);
  }
}

std::optional<pid_t> find_socket_holder(pid_t root, std::uint64_t inode, const std::set<pid_t>& others) {
  std::set<pid_t> candidates{root};
  add_descendants(root, {}, candidates);
  const std::string name = fmt::format("socket:[{}]", inode);
  const auto found = std::find_if(candidates.begin(), candidates.end(), [&](pid_t pid) {
    return !others.contains(pid) && holds_socket(pid, name);
  });
  return found == candidates.end() ? std::nullopt : std::optional{*found};
}

}  // namespace charmtree::io
