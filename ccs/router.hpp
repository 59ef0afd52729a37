// SPDX-License-Identifier: Apache-2.0
// CCS at the root: the clients of a running job, their requests on the way to the processes and the answers
// on the way back. An answer is found by its token, never by the process that sends it: that of a multicast,
// or one that was delayed, comes from any. A broadcast goes to the process of PE 0 and a multicast to that of
// its first PE; the program itself spreads it and joins the answers. A request that cannot be right is
// refused here, by a reply of length 0, and harms nobody; so is one whose process has no answer for it.
//
// Bounded: so many clients that have not sent their request, each for so long (Lobby), and so many bytes of
// unfinished requests of all clients together. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tree/proto/events.hpp"
#include "tree/proto/lobby.hpp"
#include "tree/wire/ccs_message.hpp"

namespace charmtree::ccs {

/// What is to go down the tree, each to the launcher of a process.
using Requests = std::vector<std::pair<std::uint32_t, wire::Message>>;

class Router {
public:
  static constexpr std::size_t kMaxWaiting = 4096;  // clients without a complete request
  static constexpr Duration kRequestTime = 60s;     // for a complete one
  static constexpr std::size_t kMaxUnfinished = 256U << 20;
  /// Refusals that are told: one for each client host and cause.
  static constexpr std::size_t kMaxNotes = 64;

  /// `address`: IPv4 of this host, host byte order, that processes are told for a client on loopback.
  explicit Router(std::uint32_t address) : address_(address) {}

  void on(const proto::ClientOpened& event, Instant now, proto::Actions& out);
  void on(const proto::ClientBytes& event, proto::Actions& out, Requests& down);
  void on(const proto::ClientClosed& event);
  /// The job has got its node table. Until then requests wait; they do so again if there are 0 processes.
  void start(std::uint32_t processes, std::uint32_t pes_per_process, proto::Actions& out, Requests& down);
  void on(const wire::CcsAnswer& answer, proto::Actions& out);
  /// The job is over: every client gets the end of its connection.
  void finish(proto::Actions& out);

  void tick(Instant now, proto::Actions& out);
  Instant next_deadline() const { return lobby_.next_deadline(); }

private:
  struct Client {
    std::uint32_t address = 0;
    std::uint16_t port = 0;
    wire::CcsRequestDecoder decoder;
  };
  struct Pending {
    proto::ClientId client = 0;
    bool begun = false;         // some of the answer has come
    std::uint32_t missing = 0;  // bytes of it
  };

  void look_at(proto::ClientId id, proto::Actions& out, Requests& down);
  void forward(proto::ClientId id, const wire::CcsRequest& request, Requests& down);
  void refuse(proto::ClientId id, const std::string& why, proto::Actions& out);
  void drop(proto::ClientId id, proto::Actions& out);
  void forget(proto::ClientId id);

  std::uint32_t address_;
  std::uint32_t processes_ = 0, pes_per_process_ = 0;  // 0: not yet
  bool finished_ = false;
  proto::Lobby lobby_{kMaxWaiting, kRequestTime};
  std::map<proto::ClientId, Client> clients_;  // whose request is not complete
  std::size_t unfinished_ = 0;                 // bytes that they have sent
  std::uint32_t last_token_ = 0;
  std::map<std::uint32_t, Pending> pending_;  // by token
  std::map<proto::ClientId, std::uint32_t> tokens_;
  std::set<std::pair<std::uint32_t, std::string>> told_;
};

}  // namespace charmtree::ccs
