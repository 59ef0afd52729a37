// SPDX-License-Identifier: Apache-2.0
// What is the same wherever processes speak PMI, to the launcher (tree/clients/pmi) or by our own library
// (client-lib/pmi): how long names, keys and values may be, and who is on which host.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tree/wire/mpi_service.hpp"
#include "tree/wire/share.hpp"

namespace charmtree::wire {

inline constexpr std::size_t kMostPmiName = 256, kMostPmiKey = 64;
/// Of a value where nobody is told another limit.
inline constexpr std::size_t kMostPmiValue = 1024;

/// Keys that begin so are not put by processes.
inline constexpr std::string_view kPmiReserved = "PMI_";
inline constexpr std::string_view kPmiMapping = "PMI_process_mapping";

/// `PMI_process_mapping`: "(vector,(0,2,3))" for 6 processes on 2 hosts; empty: it is not known.
std::string process_mapping(const std::vector<HostRun>& layout);
/// The same of processes that are there, in their order.
std::string process_mapping(const std::vector<Share>& shares);

}  // namespace charmtree::wire
