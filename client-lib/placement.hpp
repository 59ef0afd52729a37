// SPDX-License-Identifier: Apache-2.0
// Where the processes of the job are, as a Welcome tells it before there is a table.
#pragma once

#include <cstdint>
#include <optional>

#include "tree/wire/native_message.hpp"

namespace charmtree::client {

/// The host on which that process was started; nothing: that is not told. Precondition: it is in the job.
inline std::optional<std::uint32_t> host_of(const wire::native::Welcome& self, std::uint32_t process) {
  std::uint64_t first = 0;  // process of a run
  for (const wire::HostRun& run : self.layout) {
    const std::uint64_t all = std::uint64_t{run.hosts} * run.processes;
    if (process - first < all)
      return run.first + static_cast<std::uint32_t>((process - first) / run.processes);
    first += all;
  }
  return {};
}

/// The process with this rank on this host; nothing: that is not told.
inline std::optional<std::uint32_t> local_process(const wire::native::Welcome& self,
                                                  std::uint32_t local_rank) {
  for (const auto& [first, last] : self.local) {
    if (local_rank <= last - first) return first + local_rank;
    local_rank -= last - first + 1;
  }
  return {};
}

}  // namespace charmtree::client
