// SPDX-License-Identifier: Apache-2.0
// What the kernel tells about a process that a signal has ended: where its core file is, or why there is
// none, and whether the kernel killed it because memory ran out. All as far as this user may see it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "tree/io/core_file.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree::io {

/// The process that a record of the kernel's log says to have been killed for want of memory; 0: none.
pid_t oom_victim(std::string_view record);

/// `pattern` (core(5)) as a glob pattern for the core file of that process; what is not known of it matches
/// anything. Empty: it is a program that takes core files.
std::string core_glob(std::string_view pattern, pid_t pid, int signal);

class Autopsy {
public:
  /// Where the kernel tells it; others are for tests.
  struct Sources {
    std::string kernel_log = "/dev/kmsg";
    std::string core_pattern = "/proc/sys/kernel/core_pattern";
  };
  /// Records of the log that are read at a time; the others must do without.
  static constexpr int kMostRecords = 100'000;
  /// Core files that are looked into: reading one may take a while.
  static constexpr std::size_t kMostCores = 4;

  Autopsy() = default;
  explicit Autopsy(Sources sources) : sources_(std::move(sources)) {}

  /// What happens from now on counts. `group`: the control group (v2) of the processes, or empty; it or the
  /// one above may count its kills. It is the same each time.
  void begin(const std::string& group);
  struct Death {
    std::uint32_t process;
    pid_t pid;
    int signal;
    bool core;
    std::string directory;     // where the process began
    std::uint64_t core_limit;  // bytes
  };
  struct Finding {
    std::string told;            // "core dumped to /home/me/core.12", "out of memory: ..."; empty: nothing is
    std::string core_file = {};  // empty: there is none that could be read
  };
  Finding examine(const Death& death);
  /// Those that could be read of the processes that have crashed; kMostCores at most.
  const Cores& cores() const { return cores_; }
  /// One of that number is started again.
  void forget(std::uint32_t process) { cores_.erase(process); }

private:
  void open_sources(const std::string& group);
  bool killed_for_memory(pid_t pid);
  void read_log();
  std::uint64_t kills_counted() const;
  Finding look_for_core(const Death& death) const;

  Sources sources_;
  bool begun_ = false;
  UniqueFd log_;
  std::set<pid_t> victims_;  // not yet asked about
  std::string events_;       // the file that counts; empty: there is none
  std::uint64_t counted_ = 0;
  Cores cores_;
};

}  // namespace charmtree::io
