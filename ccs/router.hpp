// SPDX-License-Identifier: Apache-2.0
// CCS at the root: the requests of clients of a running job on the way to the processes, and the answers on
// the way back. An answer is found by its token, and not by the process that sends it: that of a multicast,
// or one that was delayed, comes from any. Nobody can foresee a token who was not told it (TokenSeal), and
// whoever tries is found out. Of native programs nobody answers but who was asked. A broadcast goes to the
// process of PE 0 and a multicast to that of its first PE; the program itself spreads it and joins the
// answers. Of the multicasts for one handler only one is under way at a time: a stock program breaks on two,
// wherever they begin. For native programs the launchers spread both, and the root says how many PEs there
// are. A request that cannot be right is refused here, by a reply of length 0, and harms nobody; so is one
// whose process has no answer. Who the clients are and what bounds them: Clients. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ccs/clients.hpp"
#include "ccs/plan.hpp"
#include "ccs/stdio_feed.hpp"
#include "ccs/token_seal.hpp"
#include "tree/turn/events.hpp"
#include "tree/wire/ccs_message.hpp"

namespace charmtree::ccs {

/// What is to go down the tree, each to the launcher of a process.
using Requests = std::vector<std::pair<std::uint32_t, wire::Message>>;

/// The programs that requests are for.
struct Programs {
  std::uint32_t processes = 0, pes_per_process = 0;  // 0: not known
  bool native = false;

  std::uint32_t pes() const { return processes * pes_per_process; }
};

class Router {
public:
  /// Multicasts for one handler that wait for the one that is under way.
  static constexpr std::size_t kMaxQueued = 256;
  /// Bytes of requests that have been sent and not answered: what the tree may have to hold.
  static constexpr std::size_t kMaxSent = 512U << 20;
  /// Bytes of a request for several native processes, and how many children of a launcher may have to be sent
  /// it at a time.
  static constexpr std::size_t kMaxSpread = 4U << 20, kSpreadCost = 64;
  /// Who leaves does not take back what was sent: requests of this size count until they are answered, or so
  /// long.
  static constexpr std::size_t kLarge = 64U << 10;
  static constexpr Duration kLargeStays = 60s;
  /// Answers that nobody can have been asked for. A program that is broken may send one or the other; of a
  /// million guesses one is right while a few thousand requests wait.
  static constexpr std::size_t kMostGuesses = 100;
  /// Requests that a report names.
  static constexpr std::size_t kMaxNamed = 4;

  explicit Router(Plan plan)
      : plan_(std::move(plan)), seal_(plan_.secret), clients_(plan_.keys, plan_.secret) {}

  void on(const proto::ClientOpened& event, Instant now, proto::Actions& out);
  void on(const proto::ClientBytes& event, Instant now, proto::Actions& out, Requests& down);
  void on(const proto::ClientClosed& event, Instant now, proto::Actions& out);
  /// The job has got its node table. Until then requests wait; they do so again if there are 0 processes.
  void start(Programs programs, Instant now, proto::Actions& out, Requests& down);
  /// False: whoever sent it has answered too much that nobody was asked.
  bool on(const wire::CcsAnswer& answer, Instant now, proto::Actions& out, Requests& down);
  /// The process is gone, whatever it has been asked.
  void gone(std::uint32_t process, Instant now, proto::Actions& out, Requests& down);
  /// These processes are lost for good: what they have been asked or will be is refused, and what is for all
  /// goes to the others.
  void lost(const std::vector<wire::ProcessSet::Range>& processes, Instant now, proto::Actions& out,
            Requests& down);
  /// What these have been asked may have been lost on its way, or the answer.
  void cut_off(const std::vector<wire::ProcessSet::Range>& processes, Instant now, proto::Actions& out,
               Requests& down);
  /// A process has printed this.
  void printed(std::string_view text, proto::Actions& out);
  /// What the process may have died of: what it had not answered, each behind "process N".
  std::vector<std::string> unanswered(std::uint32_t process) const;
  /// The job is over: every client gets the end of its connection.
  void finish(proto::Actions& out);

  void tick(Instant now, proto::Actions& out, Requests& down);
  Instant next_deadline() const;

private:
  using Token = std::uint32_t;  // not sealed
  struct Pending {
    std::optional<ReplyTo> to;  // none: its client has left, and a multicast is still under way
    std::uint32_t address = 0;
    std::uint16_t port = 0;
    std::int32_t pe = 0;
    std::string handler;
    std::uint32_t process = 0;  // that is asked
    std::size_t size = 0;       // of its payload
    Instant deadline = kNever;
    std::string payload = {};   // a multicast that waits
    bool begun = false;         // some of the answer has come
    std::uint32_t missing = 0;  // bytes of it
  };

  bool was_asked(Token token, const wire::CcsAnswer& answer) const;
  static bool concerns(const Pending& pending, bool asked);
  bool takes_turns(std::int32_t pe) const { return pe < -1 && !programs_.native; }
  void serve(Instant now, proto::Actions& out, Requests& down);
  void asked(Clients::Heard heard, Instant now, proto::Actions& out, Requests& down);
  bool serve_stdio(const Clients::Heard& heard, proto::Actions& out);
  void hand_over_text(proto::Actions& out);
  bool serve_info(const Clients::Heard& heard, proto::Actions& out);
  std::uint32_t process_of(const wire::CcsRequest& request) const;
  void forward(Clients::Heard heard, Instant now, Requests& down);
  void spread(Token token, wire::CcsRequest request, const wire::CcsOrigin& origin, Requests& down);
  Token new_token();
  static void send(std::uint32_t process, const std::string& payload, Requests& down);
  void abandon(Token token, Instant now);
  void fail_all(const std::string& why, proto::Actions& out);
  std::optional<Pending> take(Token token);
  void refuse(const Pending& pending, const std::string& why, proto::Actions& out);
  void fail(Token token, const std::string& why, proto::Actions& out, Requests& down);
  void give_up(const wire::ProcessSet& processes, std::string_view how, proto::Actions& out, Requests& down);
  void done(Token token, Requests& down);
  void time_out(Token token, Instant now, proto::Actions& out);
  void left(proto::ClientId client, Instant now);
  void forget_closed(Instant now);
  void next_multicast(const std::string& handler, Requests& down);

  Plan plan_;
  TokenSeal seal_;
  Clients clients_;
  Programs programs_;
  wire::ProcessSet lost_;
  Token sealed_as_0_ = seal_.open(0);  // never used
  Token last_token_ = 0;
  bool all_used_ = false;    // there has been every token
  std::size_t guesses_ = 0;  // since the last one that was too many
  std::map<Token, Pending> pending_;
  std::set<std::pair<proto::ClientId, Token>> tokens_;   // of clients that wait
  std::map<std::string, std::deque<Token>> multicasts_;  // by handler; the first is under way
  std::set<std::pair<Instant, Token>> timeouts_;
  std::size_t sent_ = 0;  // bytes
  StdioFeed stdio_;
};

}  // namespace charmtree::ccs
