// SPDX-License-Identifier: Apache-2.0
// CCS at the root: the clients of a running job, their requests on the way to the processes and the answers
// on the way back. An answer is found by its token, never by the process that sends it: that of a multicast,
// or one that was delayed, comes from any. A broadcast goes to the process of PE 0 and a multicast to that of
// its first PE; the program itself spreads it and joins the answers. Of the multicasts for one handler only
// one is under way at a time: a stock program breaks on two, wherever they begin. A request that cannot be
// right is refused here, by a reply of length 0, and harms nobody; so is one whose process has no answer.
//
// Bounded: so many clients that have not sent their request, each for so long (Lobby), and so many bytes of
// unfinished requests and waiting multicasts of all clients together. Pure.
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
#include "ccs/stdio_feed.hpp"
#include "tree/proto/events.hpp"
#include "tree/proto/lobby.hpp"
#include "tree/wire/ccs_message.hpp"

namespace charmtree::ccs {

/// What is to go down the tree, each to the launcher of a process.
using Requests = std::vector<std::pair<std::uint32_t, wire::Message>>;

/// What is served, and to whom.
struct Plan {
  std::uint32_t address = 0;  // IPv4 of this host, host byte order: what clients on loopback are said to have
  Keys keys = {};
  Guard::Secret secret{};
  std::set<std::string> denied = {};  // handlers
  Duration timeout{0};                // of a request; 0: none
};

class Router {
public:
  static constexpr std::size_t kMaxWaiting = 4096;  // clients without a complete request
  static constexpr Duration kRequestTime = 60s;     // for a complete one
  static constexpr std::size_t kMaxUnfinished = 256U << 20;
  /// Multicasts for one handler that wait for the one that is under way.
  static constexpr std::size_t kMaxQueued = 256;
  /// Refusals that are told: one for each client host and cause.
  static constexpr std::size_t kMaxNotes = 64;
  /// Requests that a report names.
  static constexpr std::size_t kMaxNamed = 4;

  explicit Router(Plan plan);

  void on(const proto::ClientOpened& event, Instant now, proto::Actions& out);
  void on(const proto::ClientBytes& event, Instant now, proto::Actions& out, Requests& down);
  void on(const proto::ClientClosed& event);
  /// The job has got its node table. Until then requests wait; they do so again if there are 0 processes.
  void start(std::uint32_t processes, std::uint32_t pes_per_process, Instant now, proto::Actions& out,
             Requests& down);
  void on(const wire::CcsAnswer& answer, proto::Actions& out, Requests& down);
  /// The process is gone, whatever it has been asked.
  void gone(std::uint32_t process, proto::Actions& out, Requests& down);
  /// A process has printed this.
  void printed(std::string_view text, proto::Actions& out);
  /// What the process may have died of: requests that it has not answered.
  std::vector<std::string> unanswered(std::uint32_t process) const;
  /// The job is over: every client gets the end of its connection.
  void finish(proto::Actions& out);

  void tick(Instant now, proto::Actions& out, Requests& down);
  Instant next_deadline() const;

private:
  using Token = std::uint32_t;
  struct Client {
    std::uint32_t address = 0;
    std::uint16_t port = 0;
    Conversation conversation = {};
  };
  struct Pending {
    std::optional<proto::ClientId> client;  // none: it has left, and a multicast is still under way
    std::uint32_t address = 0;
    std::uint16_t port = 0;
    std::int32_t pe = 0;
    std::string handler;
    std::string before_reply;
    std::uint32_t process = 0;  // that is asked
    std::string payload = {};   // a multicast that waits
    bool begun = false;         // some of the answer has come
    std::uint32_t missing = 0;  // bytes of it
  };

  void look_at(proto::ClientId id, Instant now, proto::Actions& out, Requests& down);
  void asked(proto::ClientId id, Asked asked, Instant now, proto::Actions& out, Requests& down);
  void forward(proto::ClientId id, const Asked& asked, Instant now, Requests& down);
  Token new_token();
  bool serve_stdio(proto::ClientId id, const Asked& asked, proto::Actions& out);
  void hand_over_text(proto::Actions& out);
  static void send(std::uint32_t process, const std::string& payload, Requests& down);
  void fail(Token token, const std::string& why, proto::Actions& out, Requests& down);
  void done(Token token, proto::Actions& out, Requests& down);
  void time_out(Token token, proto::Actions& out, Requests& down);
  void next_multicast(const std::string& handler, Requests& down);
  void refuse(proto::ClientId id, const Wrong& wrong, proto::Actions& out);
  void tell(std::uint32_t address, const std::string& what, proto::Actions& out);
  void drop(proto::ClientId id, proto::Actions& out);
  void forget(proto::ClientId id);

  Plan plan_;
  Guard guard_;
  std::uint32_t processes_ = 0, pes_per_process_ = 0;  // 0: not yet
  bool finished_ = false;
  proto::Lobby lobby_{kMaxWaiting, kRequestTime};
  std::map<proto::ClientId, Client> clients_;  // whose request is not complete
  std::size_t unfinished_ = 0;                 // bytes that they have sent
  Token last_token_ = 0;
  std::map<Token, Pending> pending_;
  std::map<proto::ClientId, Token> tokens_;
  std::map<std::string, std::deque<Token>> multicasts_;  // by handler; the first is under way
  std::deque<std::pair<Instant, Token>> timeouts_;
  std::map<proto::ClientId, std::string> fetching_;  // clients that wait for text: before their reply
  StdioFeed stdio_;
  std::set<std::pair<std::uint32_t, std::string>> told_;
};

}  // namespace charmtree::ccs
