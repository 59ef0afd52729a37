// SPDX-License-Identifier: Apache-2.0
// Any bytes as what another process tells of its queue pairs, in each of its forms: the first byte says how
// many processes there are. What is taken can be used, and means the same when it is sent on.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client-lib/ibverbs/pairs.hpp"
#include "client-lib/ibverbs/told.hpp"
#include "tests/fuzz/script.hpp"

namespace {

using namespace charmtree::ibverbs;
using charmtree::fuzz::require;

void use(const Told& told, std::uint32_t processes) {
  const std::vector<std::optional<Told>> all(processes, told);
  for (std::uint32_t rank = 0; rank < processes; ++rank) {
    const auto peer = peer_of(all, rank, (rank + 1) % processes);
    require(peer.has_value() == told.port.has_value());
    if (!peer) continue;
    require(is_sound(*peer) && is_sound(peer->port));
    require(common_mtu(peer->port, peer->port) == peer->port.mtu);
  }
}

struct Counted final : Maker {
  Outcome make(std::uint32_t, Peer& own) override {
    own.port.lid = 1;
    own.port.mtu = 1024;
    ++made;
    return {};
  }
  Outcome connect(std::uint32_t, const Peer&, const Peer& other) override {
    require(is_sound(other) && is_sound(other.port));
    ++connected;
    return {};
  }
  void release(std::uint32_t) override { --made; }
  int made = 0, connected = 0;
};

/// Another process asks so, or answers so, one that has begun to connect with it, or has not.
void ask_and_answer(const std::string& bytes) {
  for (const bool has_begun : {false, true}) {
    for (const bool is_answer : {false, true}) {
      Counted maker;
      Pairs pairs{"p ", maker};
      Pairs::Actions actions;
      if (has_begun) pairs.reach(1, actions);
      actions.clear();
      if (is_answer)
        pairs.told(1, bytes, actions);
      else
        pairs.asked(1, bytes, actions);
      require(maker.connected <= maker.made && maker.made <= 1 && actions.size() <= 1);
      require((maker.connected == 1) == pairs.is_connected(1));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::uint32_t processes = 2 + data[0];
  const std::string_view bytes{reinterpret_cast<const char*>(data) + 1, size - 1};
  if (const auto told = decode_told(bytes, processes)) {
    use(*told, processes);
    const auto again = decode_told(encode(*told), processes);
    require(again && again->port == told->port && again->numbers.ranges() == told->numbers.ranges());
  }
  if (const auto peer = decode_peer(bytes)) require(is_sound(*peer) && decode_peer(encode(*peer)));
  ask_and_answer(std::string{bytes});
  if (const auto reply = decode_reply(bytes)) require(is_sound(*reply) && decode_reply(encode(*reply)));
  if (const auto ports = decode_ports(bytes)) {
    for (const KnownPort& each : *ports) require(is_sound(each.port));
    require(decode_ports(encode(*ports)).has_value());
  }
  return 0;
}
