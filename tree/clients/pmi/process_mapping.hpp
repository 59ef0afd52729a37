// SPDX-License-Identifier: Apache-2.0
// How MPICH and its kin are told which process is on which host, and what a process finds in its environment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tree/wire/job_spec.hpp"
#include "tree/wire/share.hpp"

namespace charmtree::proto {

/// `PMI_process_mapping`: "(vector,(0,2,3))" for 6 processes on 2 hosts; empty: it is not known.
std::string process_mapping(const std::vector<wire::HostRun>& layout);
/// The same of a world whose processes are there, in their order.
std::string process_mapping(const std::vector<wire::Share>& shares);

/// A process, and its rank among those `count` of its world that are on its host.
struct ProcessPlace {
  wire::World world;
  std::uint32_t process = 0, rank = 0, count = 0;
};
/// PMI_RANK, PMI_SIZE and what else hydra's processes find, and what makes them speak that version; not
/// PMI_FD or PMI_PORT.
std::vector<std::string> pmi_variables(wire::MpiService::Pmi version, const ProcessPlace& place);

}  // namespace charmtree::proto
