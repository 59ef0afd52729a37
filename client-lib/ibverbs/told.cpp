// SPDX-License-Identifier: Apache-2.0
#include "client-lib/ibverbs/told.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "tree/wire/describe.hpp"

namespace charmtree::wire {

CT_MEMBERS(ibverbs::Port, s.roce, s.needs_gid, s.lid, s.gid, s.mtu, s.is_only_mtu, s.reads)
CT_MEMBERS(ibverbs::KnownPort, s.told_by, s.port)
CT_MEMBERS(ibverbs::Peer, s.port, s.number, s.psn)
template <>
inline constexpr std::size_t kMostText<ibverbs::Reply> = ibverbs::kMostWhy;
CT_MEMBERS(ibverbs::Reply, s.why, s.peer)

}  // namespace charmtree::wire

namespace charmtree::ibverbs {

namespace {
constexpr std::uint16_t kLeastMtu = 256, kMostMtu = 4096;
constexpr std::uint16_t kLastUnicastLid = 0xBFFF;
constexpr std::uint8_t kNewestRoce = 2;
/// Of a GID, the bytes that say its subnet.
constexpr std::ptrdiff_t kSubnetBytes = 8;
/// A host has fewer.
constexpr std::size_t kMostPorts = 256;
}  // namespace

bool is_sound(const Port& port) {
  const bool has_gid =
      std::any_of(port.gid.begin(), port.gid.end(), [](std::uint8_t each) { return each != 0; });
  const bool is_reached = port.roce > 0
                              ? has_gid && port.lid == 0 && !port.needs_gid
                              : port.lid <= kLastUnicastLid && (port.needs_gid ? has_gid : port.lid > 0);
  return std::has_single_bit(port.mtu) && port.mtu >= kLeastMtu && port.mtu <= kMostMtu &&
         port.roce <= kNewestRoce && is_reached;
}

std::optional<std::uint16_t> common_mtu(const Port& own, const Port& other) {
  if (own.mtu != other.mtu && (own.is_only_mtu || other.is_only_mtu)) return {};
  return std::min(own.mtu, other.mtu);
}

std::string why_not(const Port& own, const Port& other) {
  const auto kind = [](const Port& port) {
    return port.roce > 0 ? "RoCE v" + std::to_string(port.roce) : std::string{"InfiniBand"};
  };
  if (own.roce != other.roce) return "its port speaks " + kind(other) + ", ours " + kind(own);
  if (own.roce == 0 && !std::equal(own.gid.begin(), own.gid.begin() + kSubnetBytes, other.gid.begin()))
    return "its port is in another subnet of InfiniBand than ours";
  if (!common_mtu(own, other))
    return "its MTU is to be " + std::to_string(other.mtu) + " bytes, ours " + std::to_string(own.mtu);
  return {};
}

std::string encode(const std::vector<KnownPort>& ports) {
  return *wire::encode_whole(ports);
}

std::optional<std::vector<KnownPort>> decode_ports(std::string_view bytes) {
  wire::Reader in{bytes};
  std::vector<KnownPort> ports;
  wire::get_list(in, ports, kMostPorts);
  if (!in.finished()) return {};
  return ports;
}

std::string encode(const Told& told) {
  wire::Writer out;
  out.varint(told.port_of);
  wire::put(out, told.port);
  out.varint(told.first_psn);
  told.numbers.encode(out);
  return out.take();
}

std::optional<Told> decode_told(std::string_view bytes, std::uint32_t processes) {
  wire::Reader in{bytes};
  Told told;
  told.port_of = static_cast<std::uint32_t>(in.bounded(processes - 1));
  wire::get(in, told.port);
  told.first_psn = static_cast<std::uint32_t>(in.bounded(kMostNumber));
  told.numbers = Numbers::decode(in, processes - 1);
  if (!in.finished()) return {};
  return told;
}

bool is_sound(const Peer& peer) {
  return peer.number <= kMostNumber && peer.psn <= kMostNumber;
}

std::string encode(const Peer& peer) {
  return *wire::encode_whole(peer);
}

std::optional<Peer> decode_peer(std::string_view bytes) {
  return wire::decode_whole<Peer>(bytes);
}

bool is_sound(const Reply& reply) {
  return reply.peer.has_value() == reply.why.empty();
}

std::string encode(const Reply& reply) {
  return *wire::encode_whole(reply);
}

std::optional<Reply> decode_reply(std::string_view bytes) {
  return wire::decode_whole<Reply>(bytes);
}

std::optional<Peer> peer_of(const std::vector<std::optional<Told>>& all, std::uint32_t rank,
                            std::uint32_t self) {
  const auto& told = all[rank];
  if (!told || !all[told->port_of] || !all[told->port_of]->port) return {};
  const auto number = told->numbers.number_for(self, rank);
  if (!number) return {};
  return Peer{*all[told->port_of]->port, *number, psn_to(told->first_psn, self)};
}

}  // namespace charmtree::ibverbs
