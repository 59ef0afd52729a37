// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/postponed_hosts.hpp"

#include <utility>

namespace charmtree::proto {

void PostponedHosts::could_not_start(const Host& host, Error error, Instant now,
                                     std::vector<wire::HostFailure>& failed) {
  if (job_.session) missing_.push_back({host, error, now + kTryAgain});
  failed.push_back({host.index, std::move(error)});
}

std::vector<Host> PostponedHosts::take(Instant now, std::vector<wire::HostFailure>& failed) {
  std::vector<Host> hosts = std::exchange(kept_, {});
  std::erase_if(missing_, [&](Missing& missing) {
    if (now < missing.again_at) {
      failed.push_back({missing.host.index, missing.error});
      return false;
    }
    hosts.push_back(std::move(missing.host));
    return true;
  });
  return hosts;
}

}  // namespace charmtree::proto
