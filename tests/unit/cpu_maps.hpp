// SPDX-License-Identifier: Apache-2.0
// Hosts' processors for tests.
#pragma once

#include <algorithm>

#include "tree/turn/binding.hpp"

namespace charmtree::test {

/// Numbered as Linux does: first one PU of each core, socket by socket, then the second of each. A socket is
/// a NUMA node.
inline proto::CpuMap make_cpus(std::uint32_t sockets, std::uint32_t cores_each, std::uint32_t pus_each) {
  proto::CpuMap cpus;
  const std::uint32_t cores = sockets * cores_each;
  for (std::uint32_t s = 0; s < sockets; ++s) {
    proto::CpuSet socket;
    for (std::uint32_t c = s * cores_each; c < (s + 1) * cores_each; ++c) {
      proto::CpuSet core;
      for (std::uint32_t p = 0; p < pus_each; ++p) {
        core.push_back(c + p * cores);
        cpus.pus.push_back({core.back()});
      }
      socket.insert(socket.end(), core.begin(), core.end());
      cpus.cores.push_back(std::move(core));
    }
    std::sort(socket.begin(), socket.end());
    cpus.sockets.push_back(std::move(socket));
  }
  cpus.numas = cpus.sockets;
  return cpus;
}

}  // namespace charmtree::test
