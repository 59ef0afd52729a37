// SPDX-License-Identifier: Apache-2.0
// The "charmrun" that unmodified Charm++, AMPI and charm4py processes of one host see: each is started with
// NETSTART="<its process number> 127.0.0.1 <port> <int> 0" and connects here. This class knows which
// connection is which process; CharmClient holds the conversation with one of them. Connections that are
// nobody's are dropped with one note for each kind of nuisance and disturb nobody.
//
// Memory is bounded: an unregistered connection holds 55 bytes of input and nothing to send, and there are a
// fixed number of them; a registered one holds at most one incomplete message of its type's limit, the shared
// table, and one release per kind of barrier. It writes to a client only what answers something, so a client
// that does not read can make the shell's queue grow by 17 bytes for each message that it sends and no
// faster: the shell closes a client (closed()) whose unsent bytes pass its limit.
#pragma once

#include <bitset>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tree/clients/charm_client.hpp"
#include "tree/clients/client_server.hpp"
#include "tree/clients/pending_connections.hpp"

namespace charmtree::proto {

class CharmServer final : public ClientServer {
public:
  explicit CharmServer(LocalProcesses local, CharmLimits limits = {});
  CharmServer(const CharmServer&) = delete;
  CharmServer& operator=(const CharmServer&) = delete;

  void opened(ClientId client, Instant now, ClientOutputs& out) override;
  void received(ClientId client, std::string_view bytes, Instant now, ClientOutputs& out) override;
  void closed(ClientId client, Instant now, ClientOutputs& out) override;
  void tick(Instant now, ClientOutputs& out) override;
  Instant next_deadline() const override;

  bool fork(std::uint32_t process, std::uint32_t children, ClientOutputs& out) override;
  /// Decoded and expanded once, and only if there is a client. Precondition: complete, with as many processes
  /// as LocalProcesses::total; every block is one host's.
  void table(const wire::Blob& coded, ClientOutputs& out) override;
  void release(BarrierKind kind, ClientOutputs& out) override;
  void printed(std::uint32_t process, ClientOutputs& out) override;
  void scanned(std::uint32_t process, std::string_view input, ClientOutputs& out) override;
  void request(std::uint32_t process, std::string payload, ClientOutputs& out) override;
  void queue_pairs(std::uint32_t process, std::string_view pairs, ClientOutputs& out) override;
  /// Those that can bear it learn of a crash by recover().
  void lost(const std::vector<wire::ProcessSet::Range>&, ClientOutputs&) override {}
  void finish(ClientOutputs& out) override;
  ProgramKind program() const override {
    if (limits_.restarts) return ProgramKind::charm_restarting;
    return limits_.resizes ? ProgramKind::charm_resizing : ProgramKind::charm;
  }
  void seen(std::uint32_t process, Sight sight, Instant now, ClientOutputs& out) override;
  void vacate(std::uint32_t process, std::uint32_t restarts, bool is_awaited, ClientOutputs& out) override;
  void recover(const wire::Blob& coded, std::uint32_t crashed, ClientOutputs& out) override;
  void admit(std::uint32_t process, ClientOutputs& out) override;
  void regroup(ClientOutputs& out) override;
  void reshape(const LocalProcesses& local, const std::vector<std::uint32_t>& names) override;

private:
  struct Connection {
    wire::CharmDecoder decoder;
    CharmClient* client = nullptr;  // null: not registered
  };
  /// A process of this host. It registers at most once, even if its connection is lost, unless its place is
  /// vacated.
  struct Seat {
    bool taken = false;
    std::unique_ptr<CharmClient> client;  // while connected
  };
  enum class Nuisance : std::uint8_t { silent, closed, crowd, garbage, old_version, unexpected, duplicate };
  static constexpr std::size_t kNuisances = 7;

  /// False: the connection was dropped.
  bool handle(ClientId id, Connection& connection, const wire::CharmMessage& message, Instant now,
              ClientOutputs& out);
  bool enrol(ClientId id, Connection& connection, std::string_view initnode, ClientOutputs& out);
  void refuse_old(ClientId id, std::string_view initnode, ClientOutputs& out);
  bool awaits(std::uint32_t process) const {
    return local_.contains(process) && !seats_[process - local_.first].taken;
  }
  void break_off(ClientId id, Connection& connection, const Error& error, ClientOutputs& out);
  void drop(ClientId id, ClientOutputs& out);
  void leave(CharmClient& client, std::string why, ClientOutputs& out);
  CharmClient* find(std::uint32_t process);
  void await(const CharmClient& client) { clients_deadline_ = earlier(clients_deadline_, client.deadline()); }
  /// The process that says that it is number `name`.
  std::optional<std::uint32_t> process_of(std::uint32_t name) const;
  void note(Nuisance kind, std::string text, ClientOutputs& out);
  bool expand(const wire::Blob& coded);

  LocalProcesses local_;
  CharmLimits limits_;
  PendingConnections pending_;
  std::map<ClientId, Connection> connections_;
  std::vector<Seat> seats_;                  // by process number - local_.first
  std::vector<std::uint32_t> names_;         // likewise; empty: as they are numbered
  std::shared_ptr<const CharmTable> table_;  // the last
  std::bitset<kNuisances> noted_;
  Instant clients_deadline_ = kNever;  // no client's is earlier
  bool finished_ = false;
};

}  // namespace charmtree::proto
