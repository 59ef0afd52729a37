// SPDX-License-Identifier: Apache-2.0
// How MPICH and its kin are told which process is on which host, and what a process finds in its environment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tree/wire/job_spec.hpp"

namespace charmtree::proto {

/// `PMI_process_mapping`: "(vector,(0,2,3))" for 6 processes on 2 hosts; empty: it is not known.
std::string process_mapping(const std::vector<wire::HostRun>& layout);

/// PMI_RANK, PMI_SIZE and what else hydra's processes find; not PMI_FD. `rank` and `count`: of the process
/// among those of its host.
std::vector<std::string> pmi_variables(std::uint32_t process, std::uint32_t processes, std::uint32_t rank,
                                       std::uint32_t count);

}  // namespace charmtree::proto
