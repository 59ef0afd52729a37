// SPDX-License-Identifier: Apache-2.0
// The processors of this host, by hwloc.
#pragma once

#include <string>

#include "tree/base/result.hpp"
#include "tree/turn/binding.hpp"

namespace charmtree::io {

/// What this process may use of this host: a cgroup's cpuset and our own binding (taskset, a batch system)
/// count. hwloc's variables (HWLOC_XMLFILE, HWLOC_SYNTHETIC, HWLOC_FSROOT) are heeded; the map of another
/// machine is not bindable. Reads /sys each time, 1 ms on a small machine: ask once. Error: internal,
/// Phase::spawn.
Result<proto::CpuMap> load_cpus();

/// All that this host consists of, devices too, as hwloc writes it for others of its kind (version 2): what
/// MPI libraries look for, who need not do so each then. 10 ms on a small machine.
bool write_topology(const std::string& file);

/// Of the library's interface, "2.9".
std::string hwloc_version();

}  // namespace charmtree::io
