// SPDX-License-Identifier: Apache-2.0
// Starting a process: vfork, then in the child prctl(PDEATHSIG), personality, setsid, the descriptors, the
// working directory, execve. vfork because a fork of a launcher with much memory touched costs milliseconds
// (DESIGN §4) and because exec's failure comes back as a value. The caller must stay single-threaded in the
// sense of PDEATHSIG: the child is killed when the *thread* that started it ends, so only the launcher's main
// thread may call this.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/wire/soft_limits.hpp"

namespace charmtree::io {

struct SpawnRequest {
  std::string program;                      // with a slash: as it is; else looked up in PATH of `environment`
  std::vector<std::string> arguments;       // with argv[0]
  std::vector<std::string> environment;     // complete
  std::string directory;                    // empty: unchanged
  int input = -1, output = -1, error = -1;  // become 0, 1, 2; -1: /dev/null
  int inherited = -1;                       // stays open under its number; -1: none
  int cgroup = -1;                          // folder of the group to be in; -1: ours
  bool dies_with_parent = true;             // PDEATHSIG KILL
  bool fixed_addresses = false;             // no address space randomisation
  bool on_terminal = false;                 // `input` is a terminal: that of its session
  bool held = false;                        // it stops (SIGSTOP) before the first instruction of the program
  bool at_root = false;                     // the root's machine is the only one: nothing is to be copied
  wire::SoftLimits limits;                  // each counts where ours is less
  std::vector<std::uint32_t> cpus;          // PUs to be bound to; empty: those that we may use
};

/// Starts the process in a session of its own and returns its pid (to be watched by ChildWatch). Error:
/// no_program, not_executable, no_directory or spawn_failed, in Phase::spawn.
Result<pid_t> spawn(const SpawnRequest& request);

/// argv or envp of these, with the null at its end; points into `strings`.
std::vector<char*> pointers(const std::vector<std::string>& strings);

/// False if the kernel refuses to turn address randomisation off for what spawn() starts, though it is on.
bool can_fix_addresses();

/// The file that spawn() would execute, or its error, as far as that shows without starting anything.
Result<std::string> file_to_execute(const SpawnRequest& request);

/// The limit of open files that what spawn() starts gets, and how far it may raise that; UINT64_MAX: none.
struct DescriptorLimit {
  std::uint64_t now = 0, most = 0;
};
DescriptorLimit spawned_descriptor_limit();

/// Returns the soft limits that what spawn() starts gets where so much is asked for.
wire::SoftLimits spawned_limits(const wire::SoftLimits& asked = {});

/// Raises this process's soft limit of open files to the hard one: every process and host costs descriptors.
/// What spawn() starts gets back the limit that we were started with. Call it first thing in main.
void raise_descriptor_limit();

/// Lets all signals in, whatever the starter of this process has blocked, and makes a write beyond the limit
/// of a file (RLIMIT_FSIZE) an error instead of a signal. What spawn() starts gets neither. Call it first
/// thing in main.
void take_all_signals();

/// Gives SIGPIPE and SIGXFSZ their usual meaning back, for a program that this process becomes.
void restore_usual_signals();

/// To so many other launchers this process can hold links with the descriptors that it may open: each may
/// take four (pipes of an ssh command), and a quarter, or 32, is left for all else. At least one.
std::size_t most_links();

}  // namespace charmtree::io
