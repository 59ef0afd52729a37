// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/pmi/pmi_variables.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace charmtree::proto {

/// MPICH 5 takes it for ambiguous if it finds what PMIx clients look for beside these, unless it is told
/// which. Intel's library speaks version 2 by one that it is told of (I_MPI_PMI_LIBRARY).
std::vector<std::string> pmi_variables(wire::MpiService::Pmi version, const ProcessPlace& place) {
  const bool is_second = version == wire::MpiService::Pmi::two;
  std::vector<std::string> variables{fmt::format("PMI_RANK={}", place.process - place.world.first),
                                     fmt::format("PMI_SIZE={}", place.world.size),
                                     fmt::format("MPIR_CVAR_PMI_VERSION={}", is_second ? 2 : 1),
                                     fmt::format("MPI_LOCALRANKID={}", place.rank),
                                     fmt::format("MPI_LOCALNRANKS={}", place.count)};
  if (is_second) variables.emplace_back("I_MPI_PMI=pmi2");
  if (version == wire::MpiService::Pmi::port) variables.push_back(fmt::format("PMI_ID={}", place.process));
  if (place.world.is_spawned()) variables.emplace_back("PMI_SPAWNED=1");
  return variables;
}

void remove_foreign_library(std::vector<std::string>& environment, wire::MpiService::Pmi version,
                            const std::vector<std::string>& given) {
  using Pmi = wire::MpiService::Pmi;
  if (version != Pmi::one && version != Pmi::port) return;
  const auto is_its = [](const std::string& entry) { return entry.starts_with("I_MPI_PMI_LIBRARY="); };
  if (std::any_of(given.begin(), given.end(), is_its)) return;
  std::erase_if(environment, is_its);
}

}  // namespace charmtree::proto
