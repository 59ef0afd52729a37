// SPDX-License-Identifier: Apache-2.0
// The server of a host with native clients, which a test speaks for.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/what_happened.hpp"
#include "tree/clients/native_server.hpp"

namespace charmtree::test {

/// Three processes, 4 to 6 of ten unless a test wants others, all registered. Client n is process n.
struct NativeBench {
  explicit NativeBench(bool bears_fences = true, std::uint32_t first = 4, std::uint32_t total = 10)
      : server({first, 3, total}, 1, 0, {.bears_fences = bears_fences}) {
    for (proto::ClientId client = first; client < first + 3; ++client) {
      server.opened(client, kStart, out);
      const auto process = static_cast<std::uint32_t>(client);
      says(client, wire::native::Hello{wire::native::kVersion, process, 100, "test"});
      says(client, wire::native::Put{"tuple"});
    }
    out.clear();
  }
  void says(proto::ClientId client, const wire::native::FromClient& message) {
    server.received(client, wire::native::to_frame(message), kStart, out);
  }
  bool is_closed(proto::ClientId client) const {
    for (const proto::CloseClient& each : only<proto::CloseClient>(out)) {
      if (each.client == client) return true;
    }
    return false;
  }
  /// What it heard since out was cleared, with what came with it.
  std::vector<std::pair<wire::native::FromLauncher, std::string>> heard(proto::ClientId client) const {
    std::vector<std::pair<wire::native::FromLauncher, std::string>> messages;
    for (const proto::ToClient& sent : only<proto::ToClient>(out)) {
      if (sent.client != client) continue;
      wire::FrameDecoder decoder{wire::kMaxLinkFrame};
      decoder.append(sent.bytes);
      messages.emplace_back(wire::native::decode_from_launcher(**decoder.next()).value(),
                            sent.shared.coded ? *sent.shared.coded : "-");
    }
    return messages;
  }

  static constexpr Instant kStart{};
  proto::NativeServer server;
  proto::ClientOutputs out;
};

}  // namespace charmtree::test
