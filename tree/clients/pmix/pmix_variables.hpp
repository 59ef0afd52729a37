// SPDX-License-Identifier: Apache-2.0
// The environment of processes to which PMIx is on offer. The helper of their host (tree/io/pmix) runs only
// once the first of them connects, so that these variables cannot be those that OpenPMIx's library would set:
// they name the job and the socket that the launcher holds for the helper, and no files of a server.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tree/wire/job_spec.hpp"
#include "tree/wire/programs.hpp"

namespace charmtree::proto {

/// Returns true where the helper of a host starts with the first connection. Where processes may start
/// others, it starts before them: Open MPI's processes of both worlds must know their hosts by the same
/// names.
inline bool starts_on_demand(const wire::MpiService& mpi) {
  return mpi.pmix == wire::MpiService::Pmix::offered && !mpi.may_spawn;
}

/// Returns the PMIx namespace of the processes that were started together from number `first` on; 0: the
/// job's own. Each run of a program that is restarted has another one.
std::string pmix_namespace(const wire::JobSpec& job, std::uint32_t first);

/// Returns the name by which PMIx knows a host, which no other host of the job has.
std::string pmix_node_name(std::uint32_t host);

/// Returns "NAME=value" for a process of `world` on `host`, without the address of the server.
std::vector<std::string> offered_pmix_variables(const wire::JobSpec& job, const wire::World& world,
                                                std::uint32_t process, std::uint32_t host);

/// Returns the variables by which each version of OpenPMIx finds a server at this port of 127.0.0.1.
std::vector<std::string> pmix_server_address(const wire::JobSpec& job, std::uint16_t port);

/// Returns the port in such variables of a server; 0: there is none.
std::uint16_t pmix_server_port(const std::vector<std::string>& variables);

}  // namespace charmtree::proto
