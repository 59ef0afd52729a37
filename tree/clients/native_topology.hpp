// SPDX-License-Identifier: Apache-2.0
// What this host consists of, for its native clients: found out once, when the first of them asks.
#pragma once

#include <optional>
#include <set>
#include <utility>

#include "tree/clients/client_server.hpp"
#include "tree/wire/native_message.hpp"

namespace charmtree::proto {

class NativeTopology {
public:
  void want(ClientId client, ClientOutputs& out) {
    if (known_) return tell(client, out);
    if (waiting_.empty()) out.emplace_back(TopologyWanted{});
    waiting_.insert(client);
  }
  /// Null: it cannot be found out.
  void known(const wire::Blob& xml, ClientOutputs& out) {
    known_ = xml;
    for (const ClientId client : std::exchange(waiting_, {})) tell(client, out);
  }
  void forget(ClientId client) { waiting_.erase(client); }

private:
  void tell(ClientId client, ClientOutputs& out) const {
    ToClient answer{client, wire::native::to_frame(wire::native::Topology{*known_ != nullptr})};
    if (*known_) answer.shared = {*known_, SharedContent::Form::text};
    out.push_back(std::move(answer));
  }

  std::optional<wire::Blob> known_;
  std::set<ClientId> waiting_;
};

}  // namespace charmtree::proto
