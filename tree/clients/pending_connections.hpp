// SPDX-License-Identifier: Apache-2.0
// The connections of one client server that have not said yet who they are: how long they may stay and how
// many at once. Everybody on the host who runs as this user can connect, so the newest is never refused: the
// places are full only of connections that stay silent, and a real client registers with its first bytes.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "tree/base/time.hpp"
#include "tree/clients/client_server.hpp"

namespace charmtree::proto {

class PendingConnections {
public:
  /// At most `capacity` (>= 1) connections, each for at most `stay`.
  PendingConnections(std::size_t capacity, Duration stay) : capacity_(capacity), stay_(stay) {}

  /// Takes a connection in. If all places were taken, the one that waited longest is out and returned.
  std::optional<ClientId> enter(ClientId client, Instant now);
  /// The connection has registered or is gone. No effect if it is not here.
  void leave(ClientId client);
  bool contains(ClientId client) const { return deadlines_.contains(client); }
  /// Takes out one connection whose time is over, if there is any.
  std::optional<ClientId> expire(Instant now);

  Instant next_deadline() const { return queue_.empty() ? kNever : queue_.begin()->first; }
  std::size_t capacity() const { return capacity_; }
  /// There is room for one more.
  void widen() { ++capacity_; }
  /// Everybody is out.
  void clear();

private:
  std::size_t capacity_;
  Duration stay_;
  std::set<std::pair<Instant, ClientId>> queue_;  // by deadline
  std::map<ClientId, Instant> deadlines_;
};

}  // namespace charmtree::proto
