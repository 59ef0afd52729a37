// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/pending_connections.hpp"

namespace charmtree::proto {

std::optional<ClientId> PendingConnections::enter(ClientId client, Instant now) {
  std::optional<ClientId> evicted;
  if (deadlines_.size() >= capacity_) {
    evicted = queue_.begin()->second;
    leave(*evicted);
  }
  const Instant deadline = now + stay_;
  queue_.emplace(deadline, client);
  deadlines_.emplace(client, deadline);
  return evicted;
}

void PendingConnections::leave(ClientId client) {
  const auto found = deadlines_.find(client);
  if (found == deadlines_.end()) return;
  queue_.erase({found->second, client});
  deadlines_.erase(found);
}

void PendingConnections::clear() {
  queue_.clear();
  deadlines_.clear();
}

std::optional<ClientId> PendingConnections::expire(Instant now) {
  if (queue_.empty() || queue_.begin()->first > now) return std::nullopt;
  const ClientId client = queue_.begin()->second;
  leave(client);
  return client;
}

}  // namespace charmtree::proto
