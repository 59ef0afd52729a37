// SPDX-License-Identifier: Apache-2.0
// How many processes each host gets, and how many worker threads each of these, of a job that counts them by
// the hosts' sockets, cores or PUs. Charm++ has one number of worker threads for all processes; anything else
// may differ from host to host.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::proto {

/// A host that takes part.
struct ProvisionSite {
  std::string_view name;
  Topology topology;
  std::uint32_t processes = 0;  // if they are not counted by its units
};

struct Provisioned {
  std::vector<std::uint32_t> processes;  // of each site
  std::uint32_t pes_per_process = 1;
  friend bool operator==(const Provisioned&, const Provisioned&) = default;
};

/// `pes_per_process` counts unless the wish has a thread_unit. Error bad_input, naming hosts and numbers: the
/// worker threads of a host cannot be divided among its processes, or would not be as many in each process of
/// the job; hosts differ in their processes though the program needs as many on each; too many of either.
///
/// Worker threads of a host: one for each thread_unit, less one for each process, for its communication
/// thread, if there are more threads than processes and not PUs enough for both.
Result<Provisioned> provision(const wire::Provision& wish, std::uint32_t pes_per_process,
                              std::span<const ProvisionSite> sites);

/// The variables by which Charm++ programs bind themselves.
std::vector<std::string> cpu_hints(const wire::Provision& wish);

}  // namespace charmtree::proto
