// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/login_queue.hpp"

namespace charmtree::proto {

void LoginQueue::add(LinkId link, Instant at) {
  due_.emplace(at, link);
  times_.emplace(link, at);
}

void LoginQueue::add_behind(std::uint32_t machine, LinkId link, Instant now) {
  const Instant opens = gate_.opens(machine);
  if (opens > now)
    add(link, opens);
  else
    blocked_[machine].insert(link);
}

void LoginQueue::remove(LinkId link, std::uint32_t machine) {
  if (const auto time = times_.extract(link)) due_.erase({time.mapped(), link});
  const auto blocked = blocked_.find(machine);
  if (blocked == blocked_.end()) return;
  blocked->second.erase(link);
  if (blocked->second.empty()) blocked_.erase(blocked);
}

std::optional<LinkId> LoginQueue::take_due(Instant now) {
  if (next() > now || due_.empty()) return {};
  const LinkId link = due_.extract(due_.begin()).value().second;
  times_.erase(link);
  return link;
}

void LoginQueue::succeeded(std::uint32_t machine, Instant now) {
  gate_.succeeded(machine);
  let_in(machine, now);
}

void LoginQueue::failed(std::uint32_t machine, Errc code, Instant now) {
  gate_.failed(machine, code, now);
  let_in(machine, now);
}

/// As many as the machine may ever have: it is asked again for each of them.
void LoginQueue::let_in(std::uint32_t machine, Instant now) {
  const auto blocked = blocked_.find(machine);
  if (blocked == blocked_.end()) return;
  std::set<LinkId>& links = blocked->second;
  for (std::uint32_t i = 0; i < MachineGate::kMost && !links.empty(); ++i)
    add(links.extract(links.begin()).value(), now);
  if (links.empty()) blocked_.erase(blocked);
}

}  // namespace charmtree::proto
