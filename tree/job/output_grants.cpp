// SPDX-License-Identifier: Apache-2.0
#include "tree/job/output_grants.hpp"

#include <algorithm>

namespace charmtree::proto {

bool OutputGrants::received(LinkId link, std::size_t cost) {
  const auto [it, fresh] = accounts_.try_emplace(link);
  if (fresh) total_ += kFirst;
  Account& account = it->second;
  const auto most = std::max(account.granted, static_cast<std::int64_t>(kLargest));
  const bool allowed = account.granted > 0 && static_cast<std::int64_t>(cost) <= most;
  account.granted -= static_cast<std::int64_t>(cost);
  account.held += static_cast<std::int64_t>(cost);
  return allowed;
}

/// Not for a trifle, unless the child has nothing left.
std::uint64_t OutputGrants::passed(LinkId link, std::size_t cost) {
  const auto it = accounts_.find(link);
  if (it == accounts_.end()) return 0;
  Account& account = it->second;
  account.held -= static_cast<std::int64_t>(cost);
  total_ -= static_cast<std::int64_t>(cost);
  constexpr auto kLeast = static_cast<std::int64_t>(kFirst), kLimit = static_cast<std::int64_t>(kPool);
  const std::int64_t share = kLimit / static_cast<std::int64_t>(accounts_.size());
  const std::int64_t window = std::clamp(share, kLeast, static_cast<std::int64_t>(kMost));
  const std::int64_t owned = account.granted + account.held;
  const std::int64_t grant = std::min(window - owned, std::max(kLimit - total_, kLeast - owned));
  if (grant <= 0 || (grant < window / 4 && account.granted > 0)) return 0;
  account.granted += grant;
  total_ += grant;
  return static_cast<std::uint64_t>(grant);
}

void OutputGrants::lost(LinkId link) {
  const auto it = accounts_.find(link);
  if (it == accounts_.end()) return;
  total_ -= it->second.granted + it->second.held;
  accounts_.erase(it);
}

}  // namespace charmtree::proto
