// SPDX-License-Identifier: Apache-2.0
// IPv4 addresses as text.
#pragma once

#include <cstdint>
#include <string>

namespace charmtree::wire {

/// An address in host byte order as people write it: "192.0.2.1".
std::string dotted(std::uint32_t ipv4);

}  // namespace charmtree::wire
