// SPDX-License-Identifier: Apache-2.0
// Where a job is, for people who ask while it runs: how far its start has come, who is late, who runs what.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tree/wire/host.hpp"
#include "tree/wire/moved_processes.hpp"

namespace charmtree::proto {

enum class Stage : std::uint8_t {
  launch,  // hosts have yet to start their processes
  start,   // processes have yet to register
  run,
  end,  // it is being ended, or all its processes have
};
std::string_view name(Stage stage);

/// status_lines() has so many rows of hosts at most.
inline constexpr std::size_t kMostRows = 8;

/// Counts only hosts that have something to run, as far as that is known.
struct JobStatus {
  Stage stage = Stage::launch;
  std::uint32_t hosts = 0, hosts_up = 0, hosts_failed = 0;
  std::uint32_t processes = 0;
  std::uint32_t registered = 0;     // with their launchers; plain programs never do
  std::uint32_t ended = 0;          // processes, in whatever way
  std::vector<std::string> late;    // hosts that keep the others waiting, in order
  std::uint32_t lost = 0;           // of those that ended: without them the job goes on
  std::uint32_t silent = 0;         // processes that do not serve their sockets (++hang-after)
  wire::MovedProcesses moved = {};  // those that are elsewhere than the hosts say
  std::uint32_t staged = 100;       // percent of the job's files that the hosts have, by the slowest of those
                                    // to which the root sends them
  friend bool operator==(const JobStatus&, const JobStatus&) = default;
};

/// "launch: 62 of 64 hosts are up; not yet: h[17,40]"
std::string summary(const JobStatus& status);

/// Who runs what: "h[00-63]: processes 0-511, 8 on each", a line for every row of hosts with as many. A host
/// from which or to which processes have been `moved` has a line of its own, or none if it has none left.
std::vector<std::string> placement_lines(const std::vector<Host>& hosts,
                                         const wire::MovedProcesses& moved = {});

/// What a user reads who asks where the job is: its summary, and who runs what, as far as that fits.
std::vector<std::string> status_lines(const JobStatus& status, const std::vector<Host>& hosts);

/// The names of these hosts of a job, folded.
std::string names_of(const std::vector<std::uint32_t>& which, const std::vector<Host>& hosts);

}  // namespace charmtree::proto
