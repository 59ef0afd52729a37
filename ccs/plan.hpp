// SPDX-License-Identifier: Apache-2.0
// What charmrun's user side decides about CCS.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "ccs/guard.hpp"
#include "ccs/keys.hpp"
#include "tree/base/time.hpp"

namespace charmtree::ccs {

/// What is served, and to whom.
struct Plan {
  std::uint32_t address = 0;  // IPv4 of this host, host byte order: what clients on loopback are said to have
  Keys keys = {};
  Guard::Secret secret{};
  std::set<std::string> denied = {};  // handlers
  Duration timeout{0};                // of a request; 0: none
};

}  // namespace charmtree::ccs
