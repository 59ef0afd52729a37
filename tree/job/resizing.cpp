// SPDX-License-Identifier: Apache-2.0
#include "tree/job/resizing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace charmtree::proto {

Result<std::vector<wire::Share>> Resizing::shares(const std::vector<Host>& hosts) const {
  const std::uint32_t total = std::accumulate(wanted_.begin(), wanted_.end(), std::uint32_t{0});
  if (!stayers_.contains(0))
    return Error{Errc::bad_peer, Phase::run, "process 0 left when the job was to be resized"};
  if (stayers_.size() != std::min(old_, total)) {
    return Error{Errc::bad_peer, Phase::run,
                 fmt::format("{} of {} processes stayed when the job was to be resized to {}",
                             stayers_.size(), old_, total),
                 "see the program's output"};
  }
  std::uint32_t fresh = total - static_cast<std::uint32_t>(stayers_.size());
  std::vector<wire::Share> shares;
  std::uint32_t next = 0;
  for (const Host& host : hosts) {
    const auto first = stayers_.lower_bound(host.first_process);
    const auto last = stayers_.lower_bound(host.first_process + host.processes);
    const auto staying = static_cast<std::uint32_t>(std::distance(first, last));
    const std::uint32_t wanted = host.index < wanted_.size() ? wanted_[host.index] : 0;
    const std::uint32_t more = std::min(fresh, wanted - std::min(wanted, staying));
    fresh -= more;
    if (staying + more == 0) continue;
    shares.push_back({host.index, next, staying + more});
    next += staying + more;
  }
  return shares;
}

}  // namespace charmtree::proto
