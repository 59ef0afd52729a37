// SPDX-License-Identifier: Apache-2.0
// What native clients of a host tell each other and ask of their launcher, besides their tuples and barriers:
// each kind has a part of its own, and here is who may say what when.
#pragma once

#include <bitset>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "tree/clients/client_server.hpp"
#include "tree/clients/native_attributes.hpp"
#include "tree/clients/native_exchange.hpp"
#include "tree/clients/native_offers.hpp"
#include "tree/clients/native_rings.hpp"
#include "tree/clients/native_topology.hpp"
#include "tree/wire/native_message.hpp"

namespace charmtree::proto {

/// A client that has joined.
struct NativeSpeaker {
  ClientId client = 0;
  std::uint32_t process = 0;
  bool has_registered = false;
};

class NativeParts {
public:
  /// `local`: of the job, on this host; must outlive the object. Not `bears_fences`: each that is entered
  /// fails.
  NativeParts(const LocalProcesses& local, std::uint32_t host, bool bears_fences)
      : local_(local), exchange_(local), rings_(local), offers_(local, host), bears_fences_(bears_fences) {}

  using Message =
      std::variant<wire::native::FenceEnter, wire::native::AttributePut, wire::native::AttributeWanted,
                   wire::native::PortWanted, wire::native::Offer, wire::native::Ask,
                   wire::native::TopologyWanted, wire::native::Listen, wire::native::Answer>;
  // One per message. Empty, or what is wrong with it.
  std::string on(const NativeSpeaker& by, wire::native::FenceEnter& enter, Instant now, ClientOutputs& out);
  std::string on(const NativeSpeaker& by, wire::native::AttributePut& put, Instant now, ClientOutputs& out);
  std::string on(const NativeSpeaker& by, wire::native::AttributeWanted& wanted, Instant now,
                 ClientOutputs& out);
  std::string on(const NativeSpeaker& by, wire::native::PortWanted& wanted, Instant now, ClientOutputs& out);
  std::string on(const NativeSpeaker& by, wire::native::Offer& offer, Instant now, ClientOutputs& out);
  std::string on(const NativeSpeaker& by, wire::native::Ask& ask, Instant now, ClientOutputs& out);
  std::string on(const NativeSpeaker& by, wire::native::Listen& listen, Instant now, ClientOutputs& out);
  std::string on(const NativeSpeaker& by, wire::native::Answer& answer, Instant now, ClientOutputs& out);
  std::string on(const NativeSpeaker& by, wire::native::TopologyWanted& wanted, Instant now,
                 ClientOutputs& out);

  /// It waits for what others do, and so may not finalize.
  bool is_waiting(const NativeSpeaker& who) const {
    return exchange_.is_inside(who.process) || rings_.is_inside(who.process) ||
           attributes_.is_waiting(who.client);
  }
  void ended(std::uint32_t process, ClientOutputs& out) { offers_.ended(process, out); }
  void lost(const std::vector<wire::ProcessSet::Range>& processes, ClientOutputs& out);
  /// Its connection is gone.
  void forget(ClientId client, ClientOutputs& out);
  /// The process is gone, and another one may come in its place.
  void vacate(std::uint32_t process) { offers_.vacate(process); }
  void finish() { offers_.finish(); }

  NativeExchange& exchange() { return exchange_; }
  NativeRings& rings() { return rings_; }
  NativeOffers& offers() { return offers_; }
  const NativeOffers& offers() const { return offers_; }
  NativeTopology& topology() { return topology_; }

private:
  const LocalProcesses& local_;
  NativeExchange exchange_;
  NativeRings rings_;
  NativeAttributes attributes_;
  NativeOffers offers_;
  NativeTopology topology_;
  std::map<ClientId, std::bitset<wire::kPortKinds>> asked_ports_;
  bool bears_fences_;
};

}  // namespace charmtree::proto
