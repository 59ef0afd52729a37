// SPDX-License-Identifier: Apache-2.0
// The address of this machine that the user has chosen for it: ++useip, $CHARMRUN_IP or ++usehostname. The
// processes of other hosts are told to reach those of this one there.
#pragma once

#include <cstdint>
#include <string>

#include "charmrun/cli/options.hpp"
#include "tree/base/result.hpp"

namespace charmtree {

/// IPv4 in host byte order; 0: the user leaves it to us. For ++usehostname our name is resolved (2 s at
/// most). Error bad_input (phase options): no IPv4 address, or one that other hosts cannot reach.
Result<std::uint32_t> chosen_address(const Options& options);

}  // namespace charmtree
