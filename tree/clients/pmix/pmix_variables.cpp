// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/pmix/pmix_variables.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

namespace charmtree::proto {

namespace {

/// OpenPMIx reads the newest of these that it knows.
constexpr std::string_view kAddresses = "PMIX_SERVER_URI";
constexpr std::string_view kVersions[] = {"41", "4", "3", "21", "2"};

}  // namespace

std::string pmix_namespace(const wire::JobSpec& job, std::uint32_t first) {
  std::string name = fmt::format("charmtree-{}-{}", job.spawn.mpi.name_space, job.loss.restarts);
  return first == 0 ? name : fmt::format("{}-{}", name, first);
}

std::string pmix_node_name(std::uint32_t host) {
  return fmt::format("host{}", host);
}

/// The store `hash` gets values over the connection; other stores would open files of a server, which does
/// not run yet. Version 4 of Open MPI takes itself for a single process unless it sees a resource manager
/// that it knows. The variable of jsrun is one that other programs ignore, whereas choosing Open MPI's
/// components would break an mpirun in a script.
std::vector<std::string> offered_pmix_variables(const wire::JobSpec& job, const wire::World& world,
                                                std::uint32_t process, std::uint32_t host) {
  return {"PMIX_NAMESPACE=" + pmix_namespace(job, world.first),
          fmt::format("PMIX_RANK={}", process - world.first),
          "PMIX_HOSTNAME=" + pmix_node_name(host),
          "PMIX_SECURITY_MODE=native",
          "PMIX_GDS_MODULE=hash",
          "JSM_JSRUN_PORT=0"};
}

std::vector<std::string> pmix_server_address(const wire::JobSpec& job, std::uint16_t port) {
  std::vector<std::string> variables;
  for (const std::string_view version : kVersions)
    variables.push_back(fmt::format("{}{}=charmtree-{}-server.0;tcp4://127.0.0.1:{}", kAddresses, version,
                                    job.spawn.mpi.name_space, port));
  return variables;
}

std::uint16_t pmix_server_port(const std::vector<std::string>& variables) {
  for (const std::string& each : variables) {
    if (!each.starts_with(kAddresses)) continue;
    std::uint16_t port = 0;
    const std::size_t colon = each.rfind(':');
    if (colon == std::string::npos) continue;
    const char* end = each.data() + each.size();
    if (std::from_chars(each.data() + colon + 1, end, port).ptr == end) return port;
  }
  return 0;
}

}  // namespace charmtree::proto
