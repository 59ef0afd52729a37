// SPDX-License-Identifier: Apache-2.0
// What a process tells all others so that their queue pairs find each other. It needs no device.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client-lib/ibverbs/numbers.hpp"

namespace charmtree::ibverbs {

/// How others reach a port of a device.
struct Port {
  std::uint8_t roce = 0;                  // its version, by GIDs of which it is reached; 0: InfiniBand
  bool needs_gid = false;                 // to be reached; InfiniBand
  std::uint16_t lid = 0;                  // in its subnet; InfiniBand
  std::array<std::uint8_t, 16> gid = {};  // as sent
  std::uint16_t mtu = 0;                  // bytes that it can
  bool is_only_mtu = false;               // it is to use no other
  std::uint8_t reads = 0;                 // that it answers at a time, of each queue pair
  friend bool operator==(const Port&, const Port&) = default;
};
bool is_sound(const Port& port);

/// The MTU of a connection between the two, in bytes. Nothing: they cannot agree.
std::optional<std::uint16_t> common_mtu(const Port& own, const Port& other);

/// Why there can be no connection between the two; "": there can.
std::string why_not(const Port& own, const Port& other);

struct KnownPort {
  std::uint32_t told_by = 0;  // process
  Port port;
};
/// As it goes from one process of a host to the next: what those before have told.
std::string encode(const std::vector<KnownPort>& ports);
/// Nothing: it is malformed.
std::optional<std::vector<KnownPort>> decode_ports(std::string_view bytes);

struct Told {
  std::uint32_t port_of = 0;    // the process that tells this one's port, too
  std::optional<Port> port;     // that one does
  std::uint32_t first_psn = 0;  // psn_to
  Numbers numbers;
};
std::string encode(const Told& told);
/// Of one of so many processes. Nothing: it is malformed.
std::optional<Told> decode_told(std::string_view bytes, std::uint32_t processes);

/// The number of the first packet that a process sends to that rank.
constexpr std::uint32_t psn_to(std::uint32_t first_psn, std::uint32_t rank) {
  return (first_psn + rank) & kMostNumber;
}

/// A queue pair of another process, for one of this.
struct Peer {
  Port port;
  std::uint32_t number = 0;
  std::uint32_t psn = 0;  // of the first packet that it sends
};
bool is_sound(const Peer& peer);
std::string encode(const Peer& peer);
/// Nothing: it is malformed.
std::optional<Peer> decode_peer(std::string_view bytes);
/// Of a process that was asked for one.
struct Reply {
  std::string why;  // it cannot be connected, at most kMostWhy bytes; empty: it is
  std::optional<Peer> peer;
};
inline constexpr std::size_t kMostWhy = 400;
bool is_sound(const Reply& reply);
std::string encode(const Reply& reply);
/// Nothing: it is malformed.
std::optional<Reply> decode_reply(std::string_view bytes);

/// That of `rank` for `self`, of what all have told. Nothing: it makes no sense.
std::optional<Peer> peer_of(const std::vector<std::optional<Told>>& all, std::uint32_t rank,
                            std::uint32_t self);

}  // namespace charmtree::ibverbs
