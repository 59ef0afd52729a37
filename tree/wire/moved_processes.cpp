// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/moved_processes.hpp"

namespace charmtree::wire {

std::optional<std::uint32_t> MovedProcesses::host_of(std::uint32_t process) const {
  const auto found = hosts_.find(process);
  if (found == hosts_.end()) return {};
  return found->second.back();
}

std::optional<std::uint32_t> MovedProcesses::next_behind(std::uint32_t process) const {
  const auto next = hosts_.upper_bound(process);
  if (next == hosts_.end()) return {};
  return next->first;
}

}  // namespace charmtree::wire
