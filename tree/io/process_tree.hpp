// SPDX-License-Identifier: Apache-2.0
// The processes of this machine and who started whom, as /proc shows it. What is told may have changed when
// it is read: a caller that acts on a pid looks twice or holds a pidfd.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace charmtree::io {

/// A file of a process; empty if the process is gone or not ours.
std::string proc_file(pid_t pid, const char* name);

std::vector<pid_t> all_processes();

/// What /proc/PID/stat says; parent 0: the process is gone.
struct ProcessStat {
  pid_t parent = 0;
  char state = ' ';  // a letter; T: stopped by a signal, t: by a debugger
  pid_t session = 0;
  std::uint64_t computed = 0;  // all its threads, in clock ticks
  std::uint64_t started = 0;   // in clock ticks since boot: with the pid, this names a process for ever
  int wait_status = 0;         // of a zombie, as waitpid would give it
};
ProcessStat stat_of(pid_t pid);

/// The user that started it (its real uid), whoever the owner of its files in /proc is: root, if its program
/// cannot be read. Nothing: the process is gone.
std::optional<uid_t> user_of(pid_t pid);

/// Who traces it (ptrace); 0: nobody, or it is gone.
pid_t tracer_of(pid_t pid);

/// Which of stdout and stderr of the process `pid` are this character device.
std::array<bool, 2> outputs_on(dev_t device, pid_t pid);

/// Adds all descendants of `root` but those in `spared`, and theirs, to `found`.
void add_descendants(pid_t root, const std::set<pid_t>& spared, std::set<pid_t>& found);

/// The process that does the work of `root`: itself, or, while it just waits for the only process that it has
/// started, as a shell does, that one, and so on.
pid_t worker_of(pid_t root);

/// The descendant of `root`, or `root` itself, that holds the socket with this inode, but none of `others`.
std::optional<pid_t> find_socket_holder(pid_t root, std::uint64_t inode, const std::set<pid_t>& others);

}  // namespace charmtree::io
