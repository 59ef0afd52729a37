// SPDX-License-Identifier: Apache-2.0
// Connections that processes make themselves (PMI_PORT), where what starts them closes what they would
// inherit (PMI_FD): each says first which process it is. Whoever runs as this user on this host can connect,
// so that the number, the time and the first words of those that have not said it are limited.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "tree/clients/pending_connections.hpp"

namespace charmtree::proto {

class PmiStrangers {
public:
  /// Connections beyond one for each process; the oldest gives way to a new one.
  static constexpr std::size_t kMost = 64;
  /// Bytes in which a connection says who it is, and the time for it.
  static constexpr std::size_t kMostHello = 256;
  static constexpr Duration kHelloLimit = 10s;

  /// `processes`: of this host.
  explicit PmiStrangers(std::size_t processes) : pending_(kMost + processes, kHelloLimit) {}

  void opened(ClientId client, Instant now, ClientOutputs& out);
  bool contains(ClientId client) const { return said_.contains(client); }

  struct Named {
    std::uint32_t process = 0;
    std::string rest;  // what it has said behind it
  };
  /// Who it says that it is; it is no stranger any more. Nothing: it has not said so yet, or is dropped.
  /// Precondition: contains(client).
  std::optional<Named> received(ClientId client, std::string_view bytes, ClientOutputs& out);
  void closed(ClientId client);

  /// One that is, or was, a stranger is closed. The first is told, for whoever looks into it.
  void drop(ClientId client, const std::string& why, ClientOutputs& out);

  void tick(Instant now, ClientOutputs& out);
  Instant next_deadline() const { return pending_.next_deadline(); }

private:
  PendingConnections pending_;
  std::map<ClientId, std::string> said_;  // less than a line
  bool has_noted_ = false;
};

}  // namespace charmtree::proto
