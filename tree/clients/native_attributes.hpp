// SPDX-License-Identifier: Apache-2.0
// What native clients of this host tell each other under a name, at once and without a fence: attributes of
// the host, as PMI-2 calls them. No other host hears of them, and they stay until the end of the run.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "tree/clients/client_server.hpp"
#include "tree/wire/native_message.hpp"

namespace charmtree::proto {

class NativeAttributes {
public:
  /// Names; one more is not taken.
  static constexpr std::size_t kMost = 1024;

  /// Answered at once, and so are those that wait for it.
  void put(ClientId client, wire::native::AttributePut put, ClientOutputs& out);
  /// Answered, if it is not to wait.
  void want(ClientId client, wire::native::AttributeWanted wanted, ClientOutputs& out);
  /// It has asked, and may ask nothing else.
  bool is_waiting(ClientId client) const { return waiting_.contains(client); }
  /// A process of this host is lost, which might have been the one that they wait for: nobody waits any more.
  void give_up(ClientOutputs& out);
  void forget(ClientId client) { waiting_.erase(client); }

private:
  std::map<std::string, std::string> values_;  // by name
  std::map<ClientId, std::string> waiting_;    // for that name
};

}  // namespace charmtree::proto
