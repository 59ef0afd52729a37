// SPDX-License-Identifier: Apache-2.0
// Which PUs each process of a host is bound to. Pure: the host's processors come in as data
// (tree/io/host/cpus).
#pragma once

#include <optional>
#include <vector>

#include "tree/wire/messages.hpp"

namespace charmtree::proto {

/// PUs as the system numbers them, rising.
using CpuSet = std::vector<std::uint32_t>;

/// The processors that a launcher may use, in the order of the machine.
struct CpuMap {
  std::vector<CpuSet> sockets, numas, cores, pus;
  bool bindable = true;  // false: it describes another machine

  const std::vector<CpuSet>& of(CpuUnit unit) const;
  Topology topology() const;
};

/// True if the launchers of the job have to know their hosts' processors.
bool needs_cpus(const wire::JobSpec& job);

/// Where the process with this rank on its host goes: with `job.spawn.bind`, to unit rank mod units, or,
/// where it has several PEs and units are cores, to as many cores in a row; else to where a Charm++ program
/// binds itself by cpu_hints.
wire::Binding binding_of(const wire::JobSpec& job, const CpuMap& cpus, std::uint32_t local_rank);

/// The lines for ++report-bindings: hosts whose processes are bound alike are one. `hosts` are the job's.
std::vector<std::string> describe(const std::vector<wire::Bindings>& bindings,
                                  const std::vector<Host>& hosts);

}  // namespace charmtree::proto
