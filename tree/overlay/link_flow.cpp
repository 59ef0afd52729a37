// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/link_flow.hpp"

#include <algorithm>

namespace charmtree::proto {

void LinkFlow::Full::see(std::size_t now_waiting, Instant now) {
  if (now_waiting < backlog) took = now;
  backlog = now_waiting;
}

void LinkFlow::sent(LinkId link, std::size_t size, std::size_t backlog, std::optional<LinkId> cause,
                    Instant now) {
  auto full = full_.find(link);
  if (full == full_.end()) {
    if (backlog <= kHeldAbove) return;
    full = full_.emplace(link, Full{.backlog = backlog, .took = now}).first;
  }
  full->second.backlog += size;
  full->second.see(backlog, now);
  if (cause && *cause != link && backlog > kMostForOthers) full->second.causes.insert(*cause);
}

void LinkFlow::look(LinkId link, std::size_t backlog, Instant now) {
  const auto full = full_.find(link);
  if (full == full_.end()) return;
  full->second.see(backlog, now);
  if (backlog <= kHeldAbove) full->second.causes.clear();
  if (backlog <= kReadAgain) full_.erase(full);
}

void LinkFlow::forget(LinkId link) {
  full_.erase(link);
  for (auto& [other, full] : full_) full.causes.erase(link);
}

LinkFlow::Held LinkFlow::held(LinkId link) const {
  if (full_.contains(link)) return Held::by_own;
  const auto is_cause = [&](const auto& each) { return each.second.causes.contains(link); };
  return std::any_of(full_.begin(), full_.end(), is_cause) ? Held::by_others : Held::no;
}

Instant LinkFlow::took(LinkId link) const {
  const auto full = full_.find(link);
  return full == full_.end() ? kNever : full->second.took;
}

std::set<LinkId> LinkFlow::full() const {
  std::set<LinkId> links;
  for (const auto& [link, full] : full_) links.insert(link);
  return links;
}

}  // namespace charmtree::proto
