// SPDX-License-Identifier: Apache-2.0
// The native protocol's server side: the launcher's half of client-lib (messages:
// tree/wire/native_message.hpp).
//
// A connection greets with the process number that its program was started with, gets a Welcome, and is
// Registered once it has told its tuple. Printed, Aborted and ports may come before Registered. Finalize is
// Ended and enters BarrierKind::leave; once that is released (or after finish()) the process leaves and exits
// with its own status, which its launcher judges as that of any plain program. A process that closes its
// connection in between is ClientLost; one that does so before it registered was never a client: its number
// is free again and its exit status decides. A native client needs no receipts, asks for no input, and its
// raw stdout is carried all the time (no TableDelivered). Connections that are nobody's are dropped with one
// note for each kind of nuisance.
#pragma once

#include <bitset>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tree/base/one_of.hpp"
#include "tree/clients/client_server.hpp"
#include "tree/clients/native_parts.hpp"
#include "tree/clients/native_requests.hpp"
#include "tree/clients/pending_connections.hpp"
#include "tree/wire/frame.hpp"
#include "tree/wire/messages.hpp"
#include "tree/wire/native_message.hpp"

namespace charmtree::proto {

/// What its processes are told of the job, and how it is.
struct NativeJob {
  bool bears_fences = true;                // else each that is entered fails
  std::uint32_t hosts = 0;                 // in its list; 0: nobody knows
  std::vector<wire::HostRun> layout = {};  // where its processes are started; empty: nobody knows
};

class NativeServer : public ClientServer {
public:
  /// `host` is this host's index in the job's list, `epoch` that of the first table.
  NativeServer(LocalProcesses local, std::uint32_t host, std::uint32_t epoch = 0, NativeJob job = {});

  void opened(ClientId client, Instant now, ClientOutputs& out) override;
  void received(ClientId client, std::string_view bytes, Instant now, ClientOutputs& out) override;
  void closed(ClientId client, Instant now, ClientOutputs& out) override;
  void tick(Instant now, ClientOutputs& out) override;
  Instant next_deadline() const override;

  bool fork(std::uint32_t, std::uint32_t, ClientOutputs&) override { return false; }
  void table(const wire::Blob& coded, ClientOutputs& out) override;
  /// Releases who waits; leave: tells who has finalized that it may go. BarrierKind::root is none of a native
  /// client's.
  void release(BarrierKind kind, ClientOutputs& out) override;
  void printed(std::uint32_t, ClientOutputs&) override {}
  void scanned(std::uint32_t, std::string_view, ClientOutputs&) override {}
  void request(std::uint32_t process, std::string payload, ClientOutputs& out) override;
  void queue_pairs(std::uint32_t, std::string_view, ClientOutputs&) override {}
  void lost(const std::vector<wire::ProcessSet::Range>& processes, ClientOutputs& out) override;
  void fenced(const FenceDone& fence, ClientOutputs& out) override { parts_.exchange().fenced(fence, out); }
  void ringed(const RingDone& ring, ClientOutputs& out) override { parts_.rings().over(ring, out); }
  void inquired(const wire::Inquired& inquiry, ClientOutputs& out) override {
    parts_.offers().inquired(inquiry, out);
  }
  void answered(const wire::Answered& answer, ClientOutputs& out) override {
    parts_.offers().answered(answer, out);
  }
  void topology(const std::string&, const wire::Blob& xml, ClientOutputs& out) override {
    parts_.topology().known(xml, out);
  }
  void finish(ClientOutputs& out) override;
  ProgramKind program() const override { return ProgramKind::native; }
  void join(std::uint32_t process) override;
  void vacate(std::uint32_t process, std::uint32_t restarts, bool is_awaited, ClientOutputs& out) override;
  void renewed(const wire::Renewed& message, ClientOutputs& out) override;
  void readmit(const wire::Readmit& message, ClientOutputs& out) override;

  /// Time for a new connection to say its Hello.
  static constexpr Duration kHelloLimit = 10s;
  /// Connections without Hello, beyond one per process; the oldest gives way to a new one.
  static constexpr std::size_t kMaxStrangers = 64;

private:
  enum class Stage : std::uint8_t {
    stranger,    // no Hello yet
    joined,      // holds a process number
    registered,  // told its tuple
    ended,       // Finalize: nothing more may come
    aborted,     // Abort: whatever comes is ignored
  };
  /// Why a connection that has not registered is dropped: each kind is told once.
  enum class Nuisance : std::uint8_t {
    silent,
    closed,
    crowd,
    garbage,
    old_version,
    unexpected,
    duplicate,
    left,  // after its hello
  };
  static constexpr std::size_t kNuisances = 8;
  struct Objection {
    Nuisance kind;
    std::string why;
  };
  struct Client {
    wire::FrameDecoder decoder{wire::kMaxClientFrame};
    Stage stage = Stage::stranger;
    Nuisance nuisance = Nuisance::garbage;  // if it is dropped now
    bool in_barrier = false;
    bool is_waiting = false;    // started again: its table comes by readmit()
    std::uint32_t process = 0;  // from Stage::joined on
    NativeRequests requests;
  };
  using Clients = std::map<ClientId, Client>;
  /// Of a process.
  struct Place {
    std::optional<ClientId> holder;  // of its number
    std::uint32_t restarts = 0;
    bool is_awaited = false;
  };

  // One per message. Empty, or what is wrong with it (the connection is then dropped).
  std::string on(Clients::value_type& client, const wire::native::Hello& hello, ClientOutputs& out);
  std::string on(Clients::value_type& client, wire::native::Put& put, ClientOutputs& out);
  std::string on(Clients::value_type& client, const wire::native::BarrierEnter& enter, ClientOutputs& out);
  std::string on(Clients::value_type& client, wire::native::Print& print, ClientOutputs& out);
  std::string on(Clients::value_type& client, wire::native::Abort& abort, ClientOutputs& out);
  std::string on(Clients::value_type& client, const wire::native::Handler& handler, ClientOutputs& out);
  std::string on(Clients::value_type& client, wire::native::Reply& reply, ClientOutputs& out);
  std::string on(Clients::value_type& client, const wire::native::ReplyData& data, ClientOutputs& out);
  std::string on(Clients::value_type& client, const wire::native::Kept& kept, ClientOutputs& out);
  std::string on(Clients::value_type& client, const wire::native::Finalize& finalize, ClientOutputs& out);

  template <OneOf<NativeParts::Message> M>
  std::string on(Clients::value_type& client, M& message, ClientOutputs& out);

  std::string next_message(Clients::value_type& client, bool& more, ClientOutputs& out);
  std::optional<Objection> objection(const wire::native::Hello& hello) const;
  void drop(Clients::iterator client, const std::string& why, ClientOutputs& out);
  void drop_stranger(ClientId id, Nuisance kind, const std::string& why, ClientOutputs& out);
  void forget(Clients::iterator client, const std::string& why, ClientOutputs& out);
  void note(Nuisance kind, std::string text, ClientOutputs& out);
  static void hand_over_answer(Client& client, ClientOutputs& out);
  static void fail_requests(Client& client, ClientOutputs& out);
  wire::Blob coded(const wire::CcsDelivery& request);

  LocalProcesses local_;
  std::uint32_t host_;
  std::uint32_t epoch_;
  Clients clients_;
  PendingConnections pending_;  // strangers
  NativeParts parts_;
  std::vector<Place> places_;  // by their rank
  std::bitset<kNuisances> noted_;
  // The last request as it was sent: of one for several processes there is but one copy.
  std::uint32_t coded_token_ = 0;
  std::weak_ptr<const std::string> coded_;
  Instant now_{};
  NativeJob job_;
  bool finished_ = false;
};

}  // namespace charmtree::proto
