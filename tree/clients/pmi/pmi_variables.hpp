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

}  // namespace charmtree::proto
