// SPDX-License-Identifier: Apache-2.0
// Where a launcher waits to be adopted: a name without a file, so that nothing is left behind, however its
// owner ends, and it does not go with the user's last session. It comes from the job's secret, so that nobody
// else can own it first, and each host has another: as soon as one is there, all users of that host can read
// it. Both sides look who the other is. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "tree/wire/messages.hpp"

namespace charmtree::health {

/// "@..." (see io::Listener::open_local): that of the launcher of `host`.
std::string adoption_socket(const wire::JobSpec& job, std::uint32_t host);

}  // namespace charmtree::health
