// SPDX-License-Identifier: Apache-2.0
// The hosts of a small job.
#pragma once

#include <fmt/format.h>

#include <vector>

#include "tree/wire/host.hpp"

namespace charmtree::test {

/// Two processes on each of n1 ... n4.
inline std::vector<Host> four_hosts() {
  std::vector<Host> hosts(4);
  for (std::uint32_t i = 0; i < hosts.size(); ++i) {
    hosts[i].index = i;
    hosts[i].name = fmt::format("n{}", i + 1);
    hosts[i].first_process = 2 * i;
    hosts[i].processes = 2;
  }
  return hosts;
}

}  // namespace charmtree::test
