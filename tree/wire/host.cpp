// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/host.hpp"

#include <algorithm>

namespace charmtree {

std::uint32_t number_processes(std::vector<Host>& hosts) {
  std::uint32_t next = 0;
  for (Host& host : hosts) {
    host.first_process = next;
    next += host.processes;
  }
  return next;
}

const Host* host_of(const std::vector<Host>& hosts, std::uint32_t process) {
  const auto it = std::partition_point(hosts.begin(), hosts.end(), [process](const Host& host) {
    return host.first_process + host.processes <= process;
  });
  return it == hosts.end() ? nullptr : &*it;
}

}  // namespace charmtree
