// SPDX-License-Identifier: Apache-2.0
// Files of hosts as other launchers and batch systems write them, a line for each host, or for each slot:
//
//   NAMES                         (any) names (host_set.hpp); named again: another slot
//   NAMES:SLOTS                   MPICH, Intel MPI, Kubernetes
//   NAMES slots=N max_slots=N port=N user=NAME    Open MPI; blanks around = are fine
//   NAME SLOTS                    LSF's host file
//   NAME SLOTS QUEUE@NAME CPUS    SGE's $PE_HOSTFILE
//   NAME SLOTS NAME SLOTS...      LSF's $LSB_MCPU_HOSTS
//
// A name without a number has one slot. # and // begin a comment. All lines that show their kind are of one.
// Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "charmrun/hosts/nodelist.hpp"

namespace charmtree {

/// No line begins with `host NAME` or `group NAME`, as some do in a nodelist of Charm++, and there are lines.
bool is_host_file(std::string_view text);

/// The hosts of at most so many mentions. Errors as parse_nodelist.
Result<Nodelist> parse_host_file(std::string_view text, std::string_view file,
                                 std::uint64_t max_hosts = kMaxNodelistHosts);

}  // namespace charmtree
