// SPDX-License-Identifier: Apache-2.0
// The connections of CCS clients: what they ask, one complete request after the other, and where its reply
// goes. A stock client's connection ends with its reply, a session goes on.
//
// Bounded: so many clients that have not sent a request, each for so long (PendingConnections), so many
// sessions, so many requests under way in each, and so many bytes of unfinished requests of all clients
// together. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ccs/conversation.hpp"
#include "ccs/guard.hpp"
#include "tree/clients/pending_connections.hpp"
#include "tree/turn/events.hpp"

namespace charmtree::ccs {

/// Where a reply goes.
struct ReplyTo {
  proto::ClientId client = 0;
  std::optional<std::uint32_t> id = {};  // in a session: the request's number
  std::string prefix = {};               // in front of a stock client's reply
};

class Clients {
public:
  static constexpr std::size_t kMaxWaiting = 4096;  // without a complete request
  static constexpr Duration kRequestTime = 60s;     // for a complete one
  /// Stock clients that have said all, as those of shutdown(SHUT_WR), and so long their replies may take:
  /// from another machine, who has gone looks the same.
  static constexpr std::size_t kMaxListening = 1024;
  static constexpr Duration kReplyTime = 60s;
  static constexpr std::size_t kMaxUnfinished = 256U << 20;
  static constexpr std::size_t kMaxSessions = 8192;
  /// Requests under way in one session; with so many it is not read.
  static constexpr std::uint32_t kMaxInSession = 256;
  /// Refusals that are told: one for each client host and cause (numbers make none).
  static constexpr std::size_t kMaxNotes = 64;

  Clients(Keys keys, const Guard::Secret& secret) : guard_(std::move(keys), secret) {}

  void on(const proto::ClientOpened& event, Instant now, proto::Actions& out);
  void on(const proto::ClientBytes& event, proto::Actions& out);
  void on(const proto::ClientClosed& event, Instant now, proto::Actions& out);

  struct Heard {
    ReplyTo from;
    std::uint32_t address = 0;  // IPv4, host byte order
    std::uint16_t port = 0;
    Asked asked;
  };
  /// The next complete request of somebody, in a job with so many PEs (0: not known yet), after everything
  /// else that is to be said to clients before. To be called until there is none.
  std::optional<Heard> hear(std::uint32_t pes_of_job, Instant now, proto::Actions& out);
  /// Who has gone, or has been closed from this side, since the last time.
  std::vector<proto::ClientId> take_closed() { return std::exchange(closed_, {}); }
  /// All have to be heard again: the number of PEs has changed.
  void hear_all();

  /// A piece of the reply of `length` bytes; `last`: the request is done with.
  struct Piece {
    std::uint32_t length = 0;
    std::string bytes = {};
    bool first = true, last = true;
  };
  void reply(const ReplyTo& to, Piece piece, proto::Actions& out);
  /// The handler wants none to be sent.
  void no_reply(const ReplyTo& to, proto::Actions& out);
  /// There is none, because ...; stock clients get one of length 0.
  void refuse(const ReplyTo& to, const std::string& why, proto::Actions& out);
  /// Tells the user of it, once for each client host and cause.
  void tell(std::uint32_t address, const std::string& what, proto::Actions& out);
  /// Payloads of this many bytes are kept for clients elsewhere, and count as theirs.
  void count_kept(std::int64_t bytes) { unfinished_ += static_cast<std::size_t>(bytes); }
  /// The job is over: every client gets the end of its connection, now and from now on.
  void finish(proto::Actions& out);

  void tick(Instant now, proto::Actions& out);
  Instant next_deadline() const { return earlier(pending_.next_deadline(), listening_.next_deadline()); }

private:
  struct Client {
    std::uint32_t address = 0;
    std::uint16_t port = 0;
    std::optional<Conversation> conversation = Conversation{};  // none: a stock client has asked
    bool in_session = false;
    std::uint32_t under_way = 0;  // requests of a session
    bool paused = false;
  };

  static bool awaits_reply(const Client& client);
  using Step = std::variant<Asked, Unfit, Wrong, Reply>;
  void wait_for_more(proto::ClientId id, Instant now, proto::Actions& out);
  std::optional<Heard> follow(proto::ClientId id, Step step, proto::Actions& out);
  void make_room(proto::Actions& out);
  Heard heard(proto::ClientId id, Asked asked, proto::Actions& out);
  void enter_session(proto::ClientId id, proto::Actions& out);
  void drop(proto::ClientId id, const Wrong& wrong, proto::Actions& out);
  void drop(proto::ClientId id, const std::string& why, proto::Actions& out);
  void message(const ReplyTo& to, Status status, std::string_view bytes, proto::Actions& out);
  void close(proto::ClientId id, proto::Actions& out);
  void forget(proto::ClientId id);

  Guard guard_;
  bool finished_ = false;
  proto::PendingConnections pending_{kMaxWaiting, kRequestTime};
  proto::PendingConnections listening_{kMaxListening, kReplyTime};  // have said all
  std::map<proto::ClientId, Client> clients_;
  std::deque<proto::ClientId> to_hear_;
  std::vector<proto::ClientId> closed_;
  std::size_t unfinished_ = 0;  // bytes
  std::size_t sessions_ = 0;
  std::set<std::pair<std::uint32_t, std::string>> told_;
};

}  // namespace charmtree::ccs
