// SPDX-License-Identifier: Apache-2.0
#include "ccs/router.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tree/wire/big_endian.hpp"
#include "tree/wire/ipv4.hpp"
#include "tree/wire/pieces.hpp"
#include "tree/wire/words.hpp"

namespace charmtree::ccs {

using namespace proto;

namespace {

constexpr std::uint32_t kLoopback = 127;  // its first byte

std::string whom(std::int32_t pe) {
  if (pe >= 0) return fmt::format("PE {}", pe);
  return pe == -1 ? "all PEs" : fmt::format("{} PEs", -std::int64_t{pe});
}

constexpr std::string_view kInfo = "ccs_getinfo";
constexpr std::string_view kRedirect = "redirect stdio", kFetch = "fetch stdio";

/// What is asked for. As Charm++'s launcher does, those two are recognised by their beginnings.
std::string service(const std::string& handler) {
  for (const std::string_view own : {kRedirect, kFetch}) {
    if (handler.starts_with(own)) return std::string{own};
  }
  return handler;
}

}  // namespace

void Router::on(const ClientOpened& event, Instant now, Actions& out) {
  clients_.on(event, now, out);
}

void Router::on(const ClientBytes& event, Instant now, Actions& out, Requests& down) {
  clients_.on(event, out);
  serve(now, out, down);
}

void Router::on(const ClientClosed& event, Instant now, Actions& out) {
  clients_.on(event, now, out);
  forget_closed(now);
}

void Router::forget_closed(Instant now) {
  for (const ClientId client : clients_.take_closed()) left(client, now);
}

void Router::left(ClientId client, Instant now) {
  stdio_.left(client);
  for (auto it = tokens_.lower_bound({client, 0}); it != tokens_.end() && it->first == client;) {
    const Token token = it->second;
    it = tokens_.erase(it);
    abandon(token, now);
  }
}

/// The client waits no longer. A multicast that is under way stays so, and what is large for a while.
void Router::abandon(Token token, Instant now) {
  Pending& pending = pending_.at(token);
  const bool sent = pending.payload.empty();
  if (sent && (takes_turns(pending.pe) || pending.size >= kLarge)) {
    pending.to.reset();
    timeouts_.erase({pending.deadline, token});
    pending.deadline = takes_turns(pending.pe) ? kNever : now + kLargeStays;
    if (pending.deadline != kNever) timeouts_.emplace(pending.deadline, token);
    return;
  }
  if (takes_turns(pending.pe)) std::erase(multicasts_.at(pending.handler), token);
  take(token);
}

/// It is pending no longer, and counted nowhere.
std::optional<Router::Pending> Router::take(Token token) {
  const auto found = pending_.find(token);
  if (found == pending_.end()) return {};
  Pending pending = std::move(found->second);
  pending_.erase(found);
  timeouts_.erase({pending.deadline, token});
  if (pending.to) tokens_.erase({pending.to->client, token});
  if (pending.payload.empty())
    sent_ -= pending.size;
  else
    clients_.count_kept(-static_cast<std::int64_t>(pending.size));
  return pending;
}

void Router::start(Programs programs, Instant now, Actions& out, Requests& down) {
  programs_ = programs;
  if (programs.processes == 0) fail_all("the job is being resized", out);
  clients_.hear_all();
  serve(now, out, down);
}

void Router::serve(Instant now, Actions& out, Requests& down) {
  while (auto heard = clients_.hear(programs_.pes(), now, out)) asked(std::move(*heard), now, out, down);
  forget_closed(now);
}

void Router::asked(Clients::Heard heard, Instant now, Actions& out, Requests& down) {
  const wire::CcsRequest& request = heard.asked.request;
  const auto refuse = [&](const std::string& why) {
    clients_.tell(heard.address, why + ": refused", out);
    clients_.refuse(heard.from, why, out);
  };
  const std::string name = quotable(request.handler);
  const bool is_spread = programs_.native && request.pe < 0;
  if (!lost_.empty() && !is_spread && lost_.contains(process_of(request)))
    return refuse(fmt::format("asked process {}, which is lost", process_of(request)));
  if (plan_.denied.contains(service(request.handler)))
    return refuse(fmt::format("asked for '{}' (++server-deny)", name));
  if (serve_stdio(heard, out) || serve_info(heard, out)) return;
  const auto queue = multicasts_.find(request.handler);
  if (takes_turns(request.pe) && queue != multicasts_.end() && queue->second.size() > kMaxQueued)
    return refuse(fmt::format("sent one multicast too many for '{}'", name));
  if (sent_ > kMaxSent) return refuse("asked while too many bytes were under way");
  if (programs_.native && request.pe < 0 && request.data.size() > kMaxSpread)
    return refuse(
        fmt::format("sent {} bytes for several processes; the limit is {}", request.data.size(), kMaxSpread));
  forward(std::move(heard), now, down);
}

bool Router::serve_stdio(const Clients::Heard& heard, Actions& out) {
  const std::string name = service(heard.asked.request.handler);
  if (name == kRedirect) {
    stdio_.redirect();
    clients_.reply(heard.from, {}, out);
    return true;
  }
  if (name != kFetch) return false;
  if (const auto released = stdio_.fetch(heard.from)) clients_.reply(*released, {}, out);
  hand_over_text(out);
  return true;
}

/// The same as Charm++ programs answer: the number of processes, and the PEs of each.
bool Router::serve_info(const Clients::Heard& heard, Actions& out) {
  if (!programs_.native || heard.asked.request.handler != kInfo) return false;
  std::string info;
  wire::write_u32(info, programs_.processes);
  for (std::uint32_t i = 0; i < programs_.processes; ++i) wire::write_u32(info, programs_.pes_per_process);
  const auto length = static_cast<std::uint32_t>(info.size());
  clients_.reply(heard.from, {length, std::move(info)}, out);
  return true;
}

void Router::hand_over_text(Actions& out) {
  auto due = stdio_.due();
  if (!due) return;
  const auto length = static_cast<std::uint32_t>(due->text.size());
  clients_.reply(due->to, {length, std::move(due->text)}, out);
}

void Router::printed(std::string_view text, Actions& out) {
  stdio_.printed(text);
  hand_over_text(out);
}

/// The one that is asked. The program spreads what is for several, but for native ones.
std::uint32_t Router::process_of(const wire::CcsRequest& request) const {
  const std::uint32_t pe = request.pe >= 0       ? static_cast<std::uint32_t>(request.pe)
                           : request.pes.empty() ? 0
                                                 : request.pes.front();
  return pe / programs_.pes_per_process;
}

void Router::forward(Clients::Heard heard, Instant now, Requests& down) {
  wire::CcsRequest& request = heard.asked.request;
  const bool local = heard.address >> 24 == kLoopback;
  const Token token = new_token();
  const wire::CcsOrigin origin{local ? plan_.address : heard.address, heard.port, seal_.seal(token),
                               heard.asked.signature};
  tokens_.emplace(heard.from.client, token);
  Pending& pending = pending_[token] = {std::move(heard.from), heard.address,      heard.port, request.pe,
                                        request.handler,       process_of(request)};
  if (plan_.timeout > Duration{0}) timeouts_.emplace(pending.deadline = now + plan_.timeout, token);
  if (programs_.native && request.pe < 0) return spread(token, std::move(request), origin, down);
  std::string payload = wire::make_ccs_forward(request, origin);
  pending.size = payload.size();
  if (takes_turns(request.pe)) {
    auto& queue = multicasts_[request.handler];
    queue.push_back(token);
    if (queue.size() > 1) {
      clients_.count_kept(static_cast<std::int64_t>(payload.size()));
      pending.payload = std::move(payload);
      return;
    }
  }
  sent_ += pending.size;
  send(pending.process, payload, down);
}

/// For native programs: to those that are not lost.
void Router::spread(Token token, wire::CcsRequest request, const wire::CcsOrigin& origin, Requests& down) {
  std::set<std::uint32_t> processes;
  for (const std::uint32_t pe : std::exchange(request.pes, {}))
    processes.insert(pe / programs_.pes_per_process);
  wire::CcsSpread piece{seal_.seal(token), true, false, request.pe == -1 && lost_.empty()};
  for (const std::uint32_t process : processes) {
    if (!lost_.contains(process)) piece.processes.push_back({process, process});
  }
  if (request.pe == -1 && !lost_.empty()) piece.processes = lost_.missing({0, programs_.processes - 1});
  wire::fold(piece.processes);
  request.pe = -1;  // what it says besides is in the pieces
  const std::string payload = wire::make_ccs_forward(request, origin);
  sent_ += pending_.at(token).size = payload.size() * kSpreadCost;
  wire::for_each_piece(payload, wire::kCcsPiece, [&](std::string_view bytes, bool last) {
    piece.last = last;
    piece.bytes = bytes;
    down.emplace_back(0, piece);
    piece.first = false;
    piece.processes.clear();
  });
}

/// Sealed it is never 0: the launchers' own.
Router::Token Router::new_token() {
  do {
    all_used_ = all_used_ || last_token_ == TokenSeal::kMost;
    last_token_ = last_token_ == TokenSeal::kMost ? 1 : last_token_ + 1;
  } while (last_token_ == sealed_as_0_ || pending_.contains(last_token_));
  return last_token_;
}

void Router::send(std::uint32_t process, const std::string& payload, Requests& down) {
  wire::for_each_piece(payload, wire::kCcsPiece, [&](std::string_view bytes, bool last) {
    down.emplace_back(process, wire::CcsForward{process, last, std::string{bytes}});
  });
}

/// Who answers may have been asked, be it long ago.
bool Router::was_asked(Token token, const wire::CcsAnswer& answer) const {
  if (token == 0 || (token > last_token_ && !all_used_)) return false;
  const auto found = pending_.find(token);
  if (found == pending_.end()) return true;
  const Pending& pending = found->second;
  if (!pending.payload.empty()) return false;  // nobody has been yet
  return !programs_.native || pending.pe < 0 || answer.process == pending.process;
}

bool Router::on(const wire::CcsAnswer& answer, Instant now, Actions& out, Requests& down) {
  const Token token = answer.token > TokenSeal::kMost ? 0 : seal_.open(answer.token);
  if (!was_asked(token, answer)) {
    if (++guesses_ <= kMostGuesses) return true;
    guesses_ = 0;
    return false;
  }
  const auto found = pending_.find(token);
  if (found == pending_.end()) return true;  // its client has gone
  Pending& pending = found->second;
  if (!answer.failure.empty()) {
    fail(token, answer.failure, out, down);
  } else if (!answer.answered) {
    if (pending.to) clients_.no_reply(*pending.to, out);
    done(token, down);
  } else {
    const bool first = !std::exchange(pending.begun, true);
    if (first) pending.missing = answer.length;
    std::string bytes = answer.bytes.substr(0, pending.missing);
    pending.missing -= static_cast<std::uint32_t>(bytes.size());
    const bool last = pending.missing == 0;
    if (pending.to) clients_.reply(*pending.to, {answer.length, std::move(bytes), first, last}, out);
    if (last) done(token, down);
  }
  serve(now, out, down);
  return true;
}

/// Its client gets an empty reply.
void Router::refuse(const Pending& pending, const std::string& why, Actions& out) {
  clients_.tell(pending.address, fmt::format("got an empty reply: {}", why), out);
  if (pending.begun && !pending.to->id)
    clients_.no_reply(*pending.to, out);  // it breaks off
  else
    clients_.refuse(*pending.to, why, out);
}

void Router::fail(Token token, const std::string& why, Actions& out, Requests& down) {
  const Pending& pending = pending_.at(token);
  if (pending.to) refuse(pending, why, out);
  done(token, down);
}

void Router::fail_all(const std::string& why, Actions& out) {
  multicasts_.clear();
  Requests nowhere;
  while (!pending_.empty()) {
    Pending& first = pending_.begin()->second;
    first.pe = std::max(first.pe, -1);  // no other multicast follows
    fail(pending_.begin()->first, why, out, nowhere);
  }
}

/// Nobody waits for an answer to this request any more.
void Router::done(Token token, Requests& down) {
  const auto pending = take(token);
  if (pending && takes_turns(pending->pe)) next_multicast(pending->handler, down);
}

/// The one that was under way has ended.
void Router::next_multicast(const std::string& handler, Requests& down) {
  auto& queue = multicasts_.at(handler);
  queue.pop_front();
  if (queue.empty()) {
    multicasts_.erase(handler);
    return;
  }
  Pending& next = pending_.at(queue.front());
  clients_.count_kept(-static_cast<std::int64_t>(next.size));
  sent_ += next.size;
  send(next.process, std::exchange(next.payload, {}), down);
}

void Router::gone(std::uint32_t process, Instant now, Actions& out, Requests& down) {
  wire::ProcessSet processes;
  processes.add(process);
  give_up(processes, "gone", out, down);
  serve(now, out, down);
}

void Router::lost(const std::vector<wire::ProcessSet::Range>& processes, Instant now, Actions& out,
                  Requests& down) {
  wire::ProcessSet fresh;
  for (const wire::ProcessSet::Range& range : processes) {
    lost_.add(range);
    fresh.add(range);
  }
  if (!fresh.empty()) give_up(fresh, "lost", out, down);
  serve(now, out, down);
}

void Router::cut_off(const std::vector<wire::ProcessSet::Range>& processes, Instant now, Actions& out,
                     Requests& down) {
  const wire::ProcessSet set{processes};
  if (!set.empty()) give_up(set, "cut off for a moment", out, down);
  serve(now, out, down);
}

/// What these have been asked.
void Router::give_up(const wire::ProcessSet& processes, std::string_view how, Actions& out, Requests& down) {
  std::map<Token, std::uint32_t> unanswered;
  for (const auto& [token, pending] : pending_) {
    const bool asked = processes.contains(pending.process);
    if (concerns(pending, asked)) unanswered.emplace(token, asked ? pending.process : processes.lowest());
  }
  for (const auto& [token, process] : unanswered)
    fail(token, fmt::format("process {} is {}", process, how), out, down);
}

/// What goes to several PEs may be on its way to any process.
bool Router::concerns(const Pending& pending, bool asked) {
  return pending.payload.empty() && (asked || pending.pe < 0);
}

std::vector<std::string> Router::unanswered(std::uint32_t process) const {
  std::vector<std::string> lines;
  for (const auto& [token, pending] : pending_) {
    if (!concerns(pending, pending.process == process)) continue;
    if (lines.size() == kMaxNamed) {
      lines.emplace_back("had not answered others either");
      break;
    }
    lines.push_back(fmt::format("{} answered this CCS request: '{}' for {}, from {}:{}",
                                pending.pe < 0 ? "may not have" : "had not", quotable(pending.handler),
                                whom(pending.pe), wire::dotted(pending.address), pending.port));
  }
  return lines;
}

void Router::finish(Actions& out) {
  clients_.finish(out);
  tokens_.clear();
  pending_.clear();
  multicasts_.clear();
  timeouts_.clear();
}

void Router::tick(Instant now, Actions& out, Requests& down) {
  clients_.tick(now, out);
  while (!timeouts_.empty() && timeouts_.begin()->first <= now) {
    const Token token = timeouts_.begin()->second;
    timeouts_.erase(timeouts_.begin());
    time_out(token, now, out);
  }
  serve(now, out, down);
}

void Router::time_out(Token token, Instant now, Actions& out) {
  const Pending& pending = pending_.at(token);
  if (!pending.to) {
    take(token);
    return;
  }
  if (pending.begun) return;
  const std::string why = fmt::format("'{}' has not answered within {:g} s (++server-timeout)",
                                      quotable(pending.handler), seconds(plan_.timeout));
  refuse(pending, why, out);
  tokens_.erase({pending.to->client, token});
  abandon(token, now);
}

Instant Router::next_deadline() const {
  return timeouts_.empty() ? clients_.next_deadline()
                           : earlier(clients_.next_deadline(), timeouts_.begin()->first);
}

}  // namespace charmtree::ccs
