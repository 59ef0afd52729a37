// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/host.hpp"

namespace charmtree {

std::uint32_t number_processes(std::vector<Host>& hosts) {
  std::uint32_t next = 0;
  for (Host& host : hosts) {
    host.first_process = next;
    next += host.processes;
  }
  return next;
}

}  // namespace charmtree
