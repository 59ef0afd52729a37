// SPDX-License-Identifier: Apache-2.0
// Words for processors as they travel in the tree: what a host has, what a job wants of it, and where a
// process was bound.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace charmtree {

/// What processes and threads are counted by and bound to, from coarse to fine.
enum class CpuUnit : std::uint8_t { none, host, socket, numa, core, pu };
inline constexpr std::uint8_t kCpuUnitCount = 6;
/// "host", "socket", "NUMA node", "core", "PU".
std::string_view name(CpuUnit unit);

/// What a host has of each, at least one; only what the launcher there may use.
struct Topology {
  std::uint32_t sockets = 1, cores = 1, pus = 1;
  friend bool operator==(const Topology&, const Topology&) = default;
};
/// "2 sockets, 8 cores, 16 PUs".
std::string to_string(const Topology& topology);

namespace wire {

/// How many processes and worker threads a job has for each unit of its hosts.
struct Provision {
  CpuUnit process_unit = CpuUnit::none;  // none: processes are counted without the hosts
  std::uint32_t processes = 0;           // for each process_unit
  CpuUnit thread_unit = CpuUnit::none;   // one worker thread for each; none: as many as the job says
  bool same_everywhere = false;          // the program needs as many processes on every host
  bool hints = true;                     // Charm++ programs are told these, by which they bind themselves

  /// It takes the topologies of the hosts to count processes or threads.
  bool by_topology() const { return process_unit > CpuUnit::host || thread_unit != CpuUnit::none; }
  friend bool operator==(const Provision&, const Provision&) = default;
};

/// Hosts with consecutive indexes that have the same.
struct HostTopology {
  std::uint32_t first_host = 0;
  std::uint32_t hosts = 0;
  Topology topology;
  friend bool operator==(const HostTopology&, const HostTopology&) = default;
};
/// Sorts by host and joins what can be joined.
void fold(std::vector<HostTopology>& topologies);

/// Where one process may run: `count` units from number `first` on, in the order of its launcher's host.
struct Binding {
  enum class By : std::uint8_t {
    nobody,
    launcher,  // before it began
    itself,    // a Charm++ program, by the hints that it is given
  };
  By by = By::nobody;
  CpuUnit unit = CpuUnit::none;
  std::uint32_t first = 0, count = 0;
  std::vector<std::uint32_t> pus;  // as the system numbers them, rising
  friend bool operator==(const Binding&, const Binding&) = default;
};
/// "core 2 (PUs 2,10)", "cores 0-3 (PUs 0-7)", "not bound".
std::string to_string(const Binding& binding);

}  // namespace wire
}  // namespace charmtree
