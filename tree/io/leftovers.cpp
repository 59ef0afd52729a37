// SPDX-License-Identifier: Apache-2.0
#include "tree/io/leftovers.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <map>
#include <set>

#include "tree/io/surroundings.hpp"

namespace charmtree::io {

namespace {

constexpr std::size_t kMaxProcFile = 64U << 20;  // an environment has 6 MiB at most

/// A file of a process; empty if the process is gone or not ours.
std::string proc_file(pid_t pid, const char* name) {
  auto text = read_file(fmt::format("/proc/{}/{}", pid, name), kMaxProcFile);
  return text ? std::move(*text) : std::string{};
}

std::vector<pid_t> all_processes() {
  std::vector<pid_t> pids;
  DIR* folder = ::opendir("/proc");
  if (folder == nullptr) return pids;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string name = entry->d_name;
    if (!name.empty() &&
        std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; })) {
      pids.push_back(static_cast<pid_t>(std::stol(name)));
    }
  }
  ::closedir(folder);
  return pids;
}

/// Parent of a process and whether it still runs, from /proc/PID/stat: the name in parentheses may hold
/// anything.
struct Stat {
  pid_t parent = 0;
  bool zombie = false;
};
Stat stat_of(pid_t pid) {
  const std::string text = proc_file(pid, "stat");
  const std::size_t at = text.rfind(')');
  if (at == std::string::npos || at + 4 >= text.size()) return {};
  return {static_cast<pid_t>(std::strtol(text.c_str() + at + 4, nullptr, 10)), text[at + 2] == 'Z'};
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
  DIR* tasks = ::opendir(folder.c_str());
  if (tasks == nullptr) return children;
  while (const dirent* task = ::readdir(tasks)) {
    if (task->d_name[0] == '.') continue;
    std::ifstream list(fmt::format("{}/{}/children", folder, task->d_name));
    for (pid_t pid = 0; list >> pid;) children.push_back(pid);
  }
  ::closedir(tasks);
  return children;
}

void add_descendants(pid_t root, const std::set<pid_t>& spared, std::set<pid_t>& found) {
  for (const pid_t child : children_of(root)) {
    if (!spared.contains(child) && found.insert(child).second) add_descendants(child, spared, found);
  }
}

/// Living processes only: a zombie is its parent's affair.
std::vector<pid_t> alive(const std::set<pid_t>& pids) {
  std::vector<pid_t> living;
  for (const pid_t pid : pids) {
    if (!stat_of(pid).zombie) living.push_back(pid);
  }
  return living;
}

std::vector<pid_t> marked(const std::string& mark) {
  const std::string whole = '\0' + ("CHARMTREE_JOB=" + mark) + '\0';
  std::set<pid_t> found;
  for (const pid_t pid : all_processes()) {
    struct stat info {};
    if (pid == ::getpid() || ::stat(fmt::format("/proc/{}", pid).c_str(), &info) != 0 ||
        info.st_uid != ::geteuid())
      continue;
    if (('\0' + proc_file(pid, "environ")).find(whole) == std::string::npos) continue;
    found.insert(pid);
    add_descendants(pid, {::getpid()}, found);
  }
  return alive(found);
}

/// Pidfds first, then the second look, then the signal: whoever is found both times is the process that the
/// pidfd holds.
std::uint32_t kill_found(const std::vector<pid_t>& found, const std::function<std::vector<pid_t>()>& find) {
  std::map<pid_t, UniqueFd> pidfds;
  for (const pid_t pid : found)
    pidfds.emplace(pid, UniqueFd{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))});
  if (pidfds.empty()) return 0;
  std::uint32_t killed = 0;
  for (const pid_t pid : find()) {
    const auto it = pidfds.find(pid);
    if (it == pidfds.end()) continue;
    // Kernels before 5.3 have no pidfds: the two looks must do.
    const long failed = it->second ? ::syscall(SYS_pidfd_send_signal, it->second.get(), SIGKILL, nullptr, 0)
                                   : ::kill(pid, SIGKILL);
    killed += failed == 0 ? 1 : 0;
  }
  return killed;
}

/// Runs the same program as we: a launcher or a guardian, of a virtual host.
bool is_launcher(pid_t pid) {
  struct stat own {
  }, other{};
  return ::stat("/proc/self/exe", &own) == 0 &&
         ::stat(fmt::format("/proc/{}/exe", pid).c_str(), &other) == 0 && other.st_dev == own.st_dev &&
         other.st_ino == own.st_ino;
}

}  // namespace

std::string job_mark(const std::string& job, std::uint32_t host) {
  return fmt::format("{}:{}", job, host);
}

bool childless() {
  siginfo_t ignored{};
  return ::waitid(P_ALL, 0, &ignored, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0 && errno == ECHILD;
}

void Leftovers::kill_descendants(std::vector<pid_t> spared, Done done) {
  if (childless()) return asio::post(timer_.get_executor(), [done = std::move(done)] { done(0); });
  std::set<pid_t> keep{spared.begin(), spared.end()};
  round(
      [keep = std::move(keep)] {
        std::set<pid_t> found;
        add_descendants(::getpid(), keep, found);
        return alive(found);
      },
      kRounds, 0, std::move(done));
}

void Leftovers::kill_marked(std::string mark, Done done) {
  round([mark = std::move(mark)] { return marked(mark); }, kRounds, 0, std::move(done));
}

void Leftovers::round(Finder find, int left, std::uint32_t killed, Done done) {
  std::vector<pid_t> found = find();
  const bool over = found.empty() || left == 0;
  if (left > kRounds - kRoundsForLaunchers) std::erase_if(found, is_launcher);
  killed += kill_found(found, find);
  timer_.expires_after(over ? Duration{0} : Duration{kPause});
  timer_.async_wait(
      [this, find = std::move(find), left, killed, done = std::move(done), over](error_code ec) {
        if (ec) return;
        if (over)
          done(killed);
        else
          round(find, left - 1, killed, done);
      });
}

}  // namespace charmtree::io
