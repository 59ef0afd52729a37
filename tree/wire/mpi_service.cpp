// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/mpi_service.hpp"

namespace charmtree::wire {

void append(std::vector<HostRun>& layout, std::uint32_t host, std::uint32_t processes) {
  if (processes == 0) return;
  const bool follows = !layout.empty() && layout.back().processes == processes &&
                       layout.back().first + layout.back().hosts == host;
  if (!follows) layout.push_back({host, 0, processes});
  ++layout.back().hosts;
}

}  // namespace charmtree::wire
