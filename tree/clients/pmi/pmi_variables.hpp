// SPDX-License-Identifier: Apache-2.0
// What a process of MPICH and its kin finds in its environment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tree/wire/job_spec.hpp"

namespace charmtree::proto {

/// A process, and its rank among those `count` of its world that are on its host.
struct ProcessPlace {
  wire::World world;
  std::uint32_t process = 0, rank = 0, count = 0;
};
/// PMI_RANK, PMI_SIZE and what else hydra's processes find, and what makes them speak that version; not
/// PMI_FD or PMI_PORT.
std::vector<std::string> pmi_variables(wire::MpiService::Pmi version, const ProcessPlace& place);

/// Removes what would have Intel's library speak to another launcher than this one, where that is served by
/// PMI-1: I_MPI_PMI_LIBRARY, which modules of sites with Slurm set. What the user gives the job itself
/// (`given`) stays.
void remove_foreign_library(std::vector<std::string>& environment, wire::MpiService::Pmi version,
                            const std::vector<std::string>& given);

}  // namespace charmtree::proto
