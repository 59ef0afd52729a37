// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/pmi/process_mapping.hpp"

#include <fmt/format.h>

namespace charmtree::proto {

std::string process_mapping(const std::vector<wire::HostRun>& layout) {
  if (layout.empty()) return {};
  std::string text = "(vector";
  std::uint32_t host = 0;
  for (auto run = layout.begin(); run != layout.end();) {
    std::uint32_t hosts = 0;
    const std::uint32_t processes = run->processes;
    for (; run != layout.end() && run->processes == processes; ++run) hosts += run->hosts;
    text += fmt::format(",({},{},{})", host, hosts, processes);
    host += hosts;
  }
  return text + ")";
}

/// MPICH 5 takes it for ambiguous if it finds what PMIx clients look for beside these, unless it is told
/// which.
std::vector<std::string> pmi_variables(std::uint32_t process, std::uint32_t processes, std::uint32_t rank,
                                       std::uint32_t count) {
  return {fmt::format("PMI_RANK={}", process), fmt::format("PMI_SIZE={}", processes),
          "MPIR_CVAR_PMI_VERSION=1", fmt::format("MPI_LOCALRANKID={}", rank),
          fmt::format("MPI_LOCALNRANKS={}", count)};
}

}  // namespace charmtree::proto
