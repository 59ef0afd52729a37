// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/host_requests.hpp"

#include <algorithm>
#include <utility>

namespace charmtree::proto {

void HostRequests::add(LinkId link, std::uint32_t hosts) {
  const auto asked = std::find_if(requests_.begin(), requests_.end(),
                                  [&](const Request& each) { return each.link == link; });
  if (asked == requests_.end())
    requests_.push_back({link, std::max(hosts, 1U)});
  else
    asked->hosts = std::max(asked->hosts, hosts);
}

std::optional<HostRequests::Request> HostRequests::first() const {
  return requests_.empty() ? std::nullopt : std::optional{requests_.front()};
}

void OwnRequests::answered(bool has_hosts) {
  is_asked_ = false;
  had_hosts_ = had_hosts_ || has_hosts;
}

std::uint32_t OwnRequests::ask() {
  is_asked_ = true;
  return std::exchange(next_, std::min(2 * next_, kMost));
}

}  // namespace charmtree::proto
