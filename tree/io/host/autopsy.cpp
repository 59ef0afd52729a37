// SPDX-License-Identifier: Apache-2.0
// The kernel writes "oom-kill:constraint=...,task=x,pid=12,uid=0" before it kills, and "... Killed process 12
// (x) ..." when it has. memory.events of a control group counts the same as "oom_kill N"; where both tell,
// the log is exact and the count is not needed.
#include "tree/io/host/autopsy.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <ctime>
#include <utility>

#include "tree/base/signals.hpp"
#include "tree/io/surroundings.hpp"

namespace charmtree::io {

namespace {

constexpr std::string_view kOutOfMemory = "out of memory: the kernel chose it to end (OOM killer)";

pid_t number_behind(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  pid_t number = 0;
  if (at != std::string_view::npos)
    std::from_chars(text.data() + at + word.size(), text.data() + text.size(), number);
  return number;
}

/// The newest file that matches; empty if there is none.
std::string newest_match(const std::string& pattern) {
  glob_t found{};
  std::string newest;
  timespec newest_time{};
  if (::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) {
      struct stat info {};
      if (::stat(found.gl_pathv[i], &info) != 0 || !S_ISREG(info.st_mode)) continue;
      const timespec& time = info.st_mtim;
      const bool newer =
          std::pair{time.tv_sec, time.tv_nsec} > std::pair{newest_time.tv_sec, newest_time.tv_nsec};
      if (!newest.empty() && !newer) continue;
      newest = found.gl_pathv[i];
      newest_time = time;
    }
  }
  ::globfree(&found);
  return newest;
}

}  // namespace

pid_t oom_victim(std::string_view record) {
  if (const pid_t killed = number_behind(record, "Killed process "); killed > 0) return killed;
  return record.find("oom-kill:") == std::string_view::npos ? 0 : number_behind(record, ",pid=");
}

std::string core_glob(std::string_view pattern, pid_t pid, int signal) {
  if (pattern.starts_with('|')) return {};
  std::string glob;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      if (std::string_view{"*?[\\"}.find(pattern[i]) != std::string_view::npos) glob += '\\';
      glob += pattern[i];
      continue;
    }
    const char kind = ++i < pattern.size() ? pattern[i] : '\0';
    if (kind == 'p')
      glob += std::to_string(pid);
    else if (kind == 's')
      glob += std::to_string(signal);
    else if (kind == '%')
      glob += '%';
    else if (kind != '\0')
      glob += '*';
  }
  return glob;
}

void Autopsy::begin(const std::string& group) {
  if (!std::exchange(begun_, true)) open_sources(group);
  if (log_) ::lseek(log_.get(), 0, SEEK_END);
  counted_ = kills_counted();
  cores_.clear();
}

void Autopsy::open_sources(const std::string& group) {
  log_.reset(::open(sources_.kernel_log.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const std::string above = group.substr(0, group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  for (const std::string& folder : {group, above}) {
    if (!events_.empty() || folder.empty()) continue;
    if (::access((folder + "/memory.events").c_str(), R_OK) == 0) events_ = folder + "/memory.events";
  }
}

Autopsy::Finding Autopsy::examine(const Death& death) {
  if (death.signal == SIGKILL && killed_for_memory(death.pid)) return {std::string{kOutOfMemory}};
  if (!death.core && !signals::is_crash(death.signal)) return {};
  Finding found = look_for_core(death);
  if (!found.core_file.empty() && cores_.size() < kMostCores)
    cores_[death.process] = {death.pid, found.core_file};
  return found;
}

bool Autopsy::killed_for_memory(pid_t pid) {
  read_log();
  const std::uint64_t kills = kills_counted(), before = std::exchange(counted_, kills);
  return victims_.erase(pid) > 0 || kills > before;
}

/// One record at a time, as the kernel gives them.
void Autopsy::read_log() {
  std::array<char, 8192> record;
  for (int i = 0; log_ && i < kMostRecords; ++i) {
    const ssize_t got = ::read(log_.get(), record.data(), record.size());
    if (got < 0 && errno == EPIPE) continue;  // some were overwritten
    if (got <= 0) return;
    const pid_t victim = oom_victim({record.data(), static_cast<std::size_t>(got)});
    if (victim > 0) victims_.insert(victim);
  }
}

std::uint64_t Autopsy::kills_counted() const {
  if (events_.empty()) return 0;
  const auto text = read_file(events_, 4096);
  return text ? static_cast<std::uint64_t>(number_behind("\n" + *text, "\noom_kill ")) : 0;
}

Autopsy::Finding Autopsy::look_for_core(const Death& death) const {
  constexpr std::size_t kLongest = 4096;
  auto pattern = read_file(sources_.core_pattern, kLongest);
  if (!pattern) return {};
  while (pattern->ends_with('\n')) pattern->pop_back();
  const bool takes = pattern->starts_with('|');
  const std::string program = takes ? pattern->substr(1, pattern->find(' ') - 1) : std::string{};
  if (!death.core && takes) return {"no core file: " + program + " there takes none"};
  if (!death.core && death.core_limit == 0) return {"no core file: its limit there is 0 (ulimit -c)"};
  if (!death.core) return {"no core file: there it cannot be written (core_pattern: " + *pattern + ")"};
  if (program.find("systemd-coredump") != std::string::npos)
    return {"core dumped to the journal there (coredumpctl)"};
  if (takes) return {"core dumped to a program there: " + program};
  std::string glob = core_glob(*pattern, death.pid, death.signal);
  if (!glob.starts_with('/')) glob.insert(0, death.directory + "/");
  std::string file = newest_match(fmt::format("{}.{}", glob, death.pid));  // core_uses_pid
  if (file.empty()) file = newest_match(glob);
  return file.empty() ? Finding{} : Finding{"core dumped to " + file, file};
}

}  // namespace charmtree::io
