// SPDX-License-Identifier: Apache-2.0
// The addresses of this machine, and the one under which processes of other hosts reach those of this one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/wire/address.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::io {

/// The address under which other hosts reach this one: what the remote shell says (SSH_CONNECTION), as IPv4
/// if the same interface has one, else the first of addresses_for_others(); 127.0.0.1 if all hosts are this
/// machine. `self.address` wins if it is numeric and `self` is started locally or by a command (++mpiexec);
/// job.spawn.network over all that, and fails where this host is not in it.
Result<wire::Address> reachable_address(const wire::JobSpec& job, const Host& self);

/// All addresses of this machine's interfaces that are up, IPv4 first.
std::vector<wire::Address> own_addresses();

/// Those that may mean this machine elsewhere: not of loopback or of the link alone, nor of a bridge for
/// containers or virtual machines.
std::vector<wire::Address> addresses_for_others();

/// The first of them as IPv4 (host byte order); 0: there is none.
std::uint32_t interface_address();

/// The address of this machine's interface that leads to the first of `hosts` (numeric, or names that are
/// resolved) that has one, IPv4 if any has; none if unknown. Waits 2 s at most. Sends nothing to them.
wire::Address address_towards(const std::vector<std::string>& hosts);

/// True if the address is one of this machine's, of whatever interface.
bool is_own_address(const wire::Address& address);

}  // namespace charmtree::io
