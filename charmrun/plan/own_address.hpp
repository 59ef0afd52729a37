// SPDX-License-Identifier: Apache-2.0
// Where processes reach those of other hosts, if the user has chosen it: the address of this machine
// (++useip, $CHARMRUN_IP, ++usehostname), or the network of all hosts (++iface, ++subnet).
#pragma once

#include <cstdint>
#include <string>

#include "charmrun/cli/options.hpp"
#include "tree/base/result.hpp"

namespace charmtree {

/// IPv4 in host byte order; 0: the user leaves it to us. For ++usehostname our name is resolved (2 s at
/// most). Error bad_input (phase options): no IPv4 address, or one that other hosts cannot reach.
Result<std::uint32_t> chosen_address(const Options& options);

/// As SpawnRules::network has it; empty: the user leaves it to us. Error bad_input (phase options).
Result<std::string> chosen_network(const Options& options);

/// Returns the text of /etc/hosts, which gives this machine's names; empty if there is none.
std::string hosts_file();

}  // namespace charmtree
