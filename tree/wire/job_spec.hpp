// SPDX-License-Identifier: Apache-2.0
// The description of a job: what every launcher of it needs to know, by subject. It travels as coded bytes
// that a launcher hands on as they are.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/base/time.hpp"
#include "tree/wire/codec.hpp"
#include "tree/wire/cpus.hpp"
#include "tree/wire/host.hpp"
#include "tree/wire/mpi_service.hpp"
#include "tree/wire/programs.hpp"
#include "tree/wire/recovery.hpp"
#include "tree/wire/silence.hpp"
#include "tree/wire/soft_limits.hpp"
#include "tree/wire/staging.hpp"

namespace charmtree::wire {

/// The shape of a static k-ary tree. `levels` counts the levels below the root; 0: as many as it takes.
struct Shape {
  std::uint32_t branching = 0;
  std::uint32_t levels = 0;
  friend bool operator==(const Shape&, const Shape&) = default;
};

/// What becomes of a job when hosts fail at its launch.
enum class OnHostFailure : std::uint8_t {
  abort,  // it ends, when every other host has answered
  drop,   // it runs without them
  spare,  // others take their places
};
/// How hosts are logged into.
struct LaunchRules {
  Shape shape;
  std::uint32_t batch = 0;       // logins in flight per launcher; 0: as many as go well
  std::uint32_t max_logins = 0;  // never more than that; 0: no limit
  std::uint64_t login_rate = 0;  // of all launchers together, in logins per 1,000,000 s; 0: no limit
  OnHostFailure on_host_failure = OnHostFailure::abort;
  Duration patience{0};  // drop, spare: with a silent host; 0: from the logins so far
  Duration wait{0};      // so long names that do not resolve or answer are tried again
  Duration login_occupancy{0}, login_latency{0};  // what a login costs, as far as is known; 0: it is not
  friend bool operator==(const LaunchRules&, const LaunchRules&) = default;
};

/// Of a terminal's window, in characters.
struct WindowSize {
  std::uint16_t rows = 0, columns = 0;
  friend bool operator==(const WindowSize&, const WindowSize&) = default;
};
/// What the input process gets as stdin, stdout and stderr, if not pipes.
struct Terminal {
  WindowSize size;
  bool typed_into = true;  // echoes what comes in, and writes a carriage return before each newline
  friend bool operator==(const Terminal&, const Terminal&) = default;
};
/// Whether a host's processes after its first are forks of that one (Charm++'s `nodefork`), which have its
/// address layout. Only netlrts clients can be.
enum class ForkClients : std::uint8_t {
  never,
  where_random,  // where the kernel refuses to fix addresses
  always,
};

/// Whose variables processes get, beside ours: those by which its scripts know rank and size.
enum class EnvLike : std::uint8_t { none, openmpi, mpich, slurm };

/// How launchers watch each other (health/detector).
struct Heartbeat {
  Duration interval{0};       // something goes over every link so often; 0: nobody is watched
  Duration gone_after{1s};    // silence of a host that answers in no way
  Duration orphan_after{8s};  // of a parent: then its subtree ends by itself
  friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
};

/// In the place of a process number: none.
inline constexpr std::uint32_t kNoProcess = UINT32_MAX;

/// Who gets the user's stdin.
struct InputRules {
  std::uint32_t process = 0;
  bool to_all = false;    // the others get copies
  bool is_typed = false;  // the user types it: a line is passed on when the last one was read
  friend bool operator==(const InputRules&, const InputRules&) = default;
};

/// In what pieces output comes, and how much of it may wait.
struct OutputRules {
  /// How long a line without its newline is held back on stdout, stderr.
  std::array<Duration, 2> partial_line{5s, 5s};
  bool raw = false;                // pass it on as it comes
  bool labelled = false;           // or inside events: lines are whole even if there is one process
  bool line_buffered = false;      // stdout is a terminal of the process's own: it keeps no lines back
  std::uint64_t spool = 1U << 30;  // bytes of it that a host may keep in a file
  friend bool operator==(const OutputRules&, const OutputRules&) = default;
};

/// What launchers tell the root beyond what it must know.
struct ReportRules {
  bool stamps = false;    // their start-up times
  bool bindings = false;  // of processes to processors
  bool watched = false;   // somebody looks at the job: Facts say more
  friend bool operator==(const ReportRules&, const ReportRules&) = default;
};

/// How a host starts processes.
struct SpawnRules {
  std::vector<std::string> environment;  // the root's, "NAME=value"
  std::uint32_t umask = 022;
  SoftLimits limits;
  std::vector<FurtherProgram> further;  // behind the job's first, if it runs several
  std::string runscript;
  EnvLike env_like = EnvLike::none;
  bool expands = false;  // arguments hold `%r` and `%h`
  bool keep_address_randomisation = false;
  ForkClients fork_clients = ForkClients::never;
  CpuUnit bind = CpuUnit::none;  // bind them to these before they begin
  MpiService mpi;
  bool held = false;  // each stops before its first instruction, to go on with the job: a debugger comes
  bool make_directory = false;  // the working directory, where it is missing
  StagedFiles staged;
  std::string network;  // where processes reach those of other hosts: an interface, or ADDRESS/BITS; empty:
                        // found out
  friend bool operator==(const SpawnRules&, const SpawnRules&) = default;
};

/// What every launcher of a job needs to know. Times are durations, never instants.
struct JobSpec {
  std::string id;                      // 16 hexadecimal digits
  std::string secret;                  // 32 random bytes
  std::vector<std::string> arguments;  // the program's, [0] as the user wrote it
  std::uint32_t hosts = 0;
  std::uint32_t processes = 0;
  std::uint32_t pes_per_process = 1;
  InputRules input;
  OutputRules output;
  ReportRules reports;
  SpawnRules spawn;
  std::uint16_t magic = 1;  // Charm++'s NETSTART "pid" and NETMAGIC, 1 ... 32767
  LaunchRules launch;
  Duration timeout = 60s;
  Duration grace = 2s;           // between asking processes to end and SIGKILL
  bool private_network = false;  // all hosts are this machine: 127.0.0.1 reaches everybody
  std::vector<Profile> profiles;
  bool checkup = false;  // start no process: examine every host (Checkup)
  std::optional<Terminal> terminal;
  bool resizes = false;  // it may ask for another number of processes (Charm++'s shrink/expand builds)
  Provision provision;
  LossRules loss;
  Heartbeat heartbeat;
  SilenceRules silence;
  bool starts_together = false;  // no process starts before every host has answered
  bool session = false;          // other programs follow this one over the same tree (DESIGN D23)
  /// The file of the program that a process runs on that host.
  const std::string& file_of(const Host& host, std::uint32_t process) const {
    const Profile& profile = profiles[host.profile];
    const std::uint32_t number = program_of(spawn.further, process);
    if (number == 0) return profile.program;
    if (number <= profile.further_programs.size()) return profile.further_programs[number - 1];
    return spawn.further[number - 1].arguments.front();
  }
  /// Output is bytes as they come, not lines.
  bool passes_raw() const { return output.raw || (processes == 1 && !output.labelled); }
  /// The processes get their numbers when all hosts have answered or been given up.
  bool is_numbered_late() const {
    return launch.on_host_failure != OnHostFailure::abort || provision.by_topology();
  }
  /// Hosts answer once when they are ready, and start their processes when they hear Numbers.
  bool waits_for_all() const { return starts_together || is_numbered_late(); }
  /// Facts say which processes have ended well, and not only how many.
  bool names_who_ended() const {
    return reports.watched || loss.recovery == Recovery::go_on || keeps_alive() ||
           loss.recovery == Recovery::in_place;
  }
  /// Another root may take the place of the first.
  bool keeps_alive() const { return loss.keep_alive > Duration{0}; }
  /// Launchers below a lost one are adopted, and the job goes on with them.
  bool repairs() const {
    return (loss.recovery == Recovery::go_on || keeps_alive()) && bears_repair(loss.recovery) && !resizes &&
           !checkup;
  }
  /// Facts say whose launcher has started which.
  bool names_who_started() const { return reports.watched || repairs(); }
  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};
Blob encode(const JobSpec& job);
Result<JobSpec> decode_job(std::string_view bytes);

}  // namespace charmtree::wire
