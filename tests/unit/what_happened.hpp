// SPDX-License-Identifier: Apache-2.0
// Of what a state machine under test has said, that which a test asks about.
#pragma once

#include <string>
#include <vector>

#include "tree/turn/events.hpp"

namespace charmtree::test {

/// Those of one kind, in order.
template <class Kind, class Variant>
std::vector<Kind> only(const std::vector<Variant>& all) {
  std::vector<Kind> found;
  for (const Variant& each : all) {
    if (const auto* kind = get_if<Kind>(&each)) found.push_back(*kind);
  }
  return found;
}

/// All bytes for a client, in order.
inline std::string sent_to(proto::ClientId client, const proto::Actions& actions) {
  std::string bytes;
  for (const auto& send : only<proto::ClientSend>(actions)) {
    if (send.client == client) bytes += send.bytes + (send.tail ? *send.tail : "");
  }
  return bytes;
}

}  // namespace charmtree::test
