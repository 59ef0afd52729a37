// SPDX-License-Identifier: Apache-2.0
#include "ccs/router.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tree/wire/ipv4.hpp"

namespace charmtree::ccs {

using namespace proto;

namespace {

constexpr std::uint32_t kLoopback = 127;  // its first byte

ClientSend to_client(ClientId client, std::string bytes) {
  return {ClientKind::ccs, client, std::move(bytes)};
}

std::string empty_reply(const std::string& prefix) {
  return prefix + wire::make_ccs_reply_head(0);
}

}  // namespace

Router::Router(Plan plan) : plan_(std::move(plan)), guard_(plan_.keys, plan_.secret) {}

void Router::on(const ClientOpened& event, Instant now, Actions& out) {
  if (finished_) {
    out.push_back(ClientClose{ClientKind::ccs, event.client});
    return;
  }
  clients_[event.client] = {event.address, event.port};
  if (const auto evicted = lobby_.enter(event.client, now)) drop(*evicted, out);
}

void Router::on(const ClientBytes& event, Instant now, Actions& out, Requests& down) {
  const auto found = clients_.find(event.client);
  if (found == clients_.end()) return;
  unfinished_ -= found->second.conversation.buffered();
  found->second.conversation.append(event.bytes);
  unfinished_ += found->second.conversation.buffered();
  look_at(event.client, now, out, down);
  if (unfinished_ > kMaxUnfinished && clients_.contains(event.client))
    refuse(event.client, {"sent more than there is room for now", std::string{}}, out);
}

void Router::on(const ClientClosed& event) {
  forget(event.client);
  stdio_.left(event.client);
  fetching_.erase(event.client);
  const auto token = tokens_.find(event.client);
  if (token == tokens_.end()) return;
  const auto pending = pending_.find(token->second);
  tokens_.erase(token);
  if (pending->second.pe < -1)
    pending->second.client.reset();
  else
    pending_.erase(pending);
}

void Router::start(std::uint32_t processes, std::uint32_t pes_per_process, Instant now, Actions& out,
                   Requests& down) {
  processes_ = processes;
  pes_per_process_ = pes_per_process;
  std::vector<ClientId> ids;
  for (const auto& [id, client] : clients_) ids.push_back(id);
  for (const ClientId id : ids) look_at(id, now, out, down);
}

void Router::look_at(ClientId id, Instant now, Actions& out, Requests& down) {
  Conversation& conversation = clients_.at(id).conversation;
  const std::size_t before = conversation.buffered();
  auto step = conversation.next(guard_, processes_ * pes_per_process_);
  unfinished_ += conversation.buffered() - before;
  if (!step) return;
  if (auto* request = std::get_if<Asked>(&*step)) return asked(id, std::move(*request), now, out, down);
  if (const auto* wrong = std::get_if<Wrong>(&*step)) return refuse(id, *wrong, out);
  const auto& reply = std::get<Reply>(*step);
  out.push_back(to_client(id, reply.bytes));
  if (reply.last) return drop(id, out);
  look_at(id, now, out, down);
}

void Router::asked(ClientId id, Asked asked, Instant now, Actions& out, Requests& down) {
  const wire::CcsRequest& request = asked.request;
  if (plan_.denied.contains(request.handler)) {
    return refuse(id, {fmt::format("asked for '{}' (++server-deny)", request.handler), asked.before_reply},
                  out);
  }
  if (serve_stdio(id, asked, out)) return;
  const auto queue = multicasts_.find(request.handler);
  if (request.pe < -1 && queue != multicasts_.end() && queue->second.size() > kMaxQueued) {
    return refuse(
        id, {fmt::format("sent one multicast too many for '{}'", request.handler), asked.before_reply}, out);
  }
  forward(id, asked, now, down);
}

/// As Charm++'s launcher does, names are recognised by their beginnings.
bool Router::serve_stdio(ClientId id, const Asked& asked, Actions& out) {
  const std::string& handler = asked.request.handler;
  if (handler.starts_with("redirect stdio")) {
    stdio_.redirect();
    out.push_back(to_client(id, empty_reply(asked.before_reply)));
    drop(id, out);
    return true;
  }
  if (!handler.starts_with("fetch stdio")) return false;
  forget(id);
  if (const auto released = stdio_.fetch(id)) {
    out.push_back(to_client(*released, empty_reply(fetching_[*released])));
    out.push_back(ClientClose{ClientKind::ccs, *released});
    fetching_.erase(*released);
  }
  fetching_[id] = asked.before_reply;
  hand_over_text(out);
  return true;
}

void Router::hand_over_text(Actions& out) {
  auto due = stdio_.due();
  if (!due) return;
  const std::string head = wire::make_ccs_reply_head(static_cast<std::uint32_t>(due->text.size()));
  out.push_back(to_client(due->client, fetching_[due->client] + head + due->text));
  out.push_back(ClientClose{ClientKind::ccs, due->client});
  fetching_.erase(due->client);
}

void Router::printed(std::string_view text, Actions& out) {
  stdio_.printed(text);
  hand_over_text(out);
}

void Router::forward(ClientId id, const Asked& asked, Instant now, Requests& down) {
  const wire::CcsRequest& request = asked.request;
  const Client& client = clients_.at(id);
  const bool local = client.address >> 24 == kLoopback;
  const std::uint32_t pe = request.pe >= 0       ? static_cast<std::uint32_t>(request.pe)
                           : request.pes.empty() ? 0
                                                 : request.pes.front();
  const Token token = new_token();
  std::string payload = wire::make_ccs_forward(
      request, {local ? plan_.address : client.address, client.port, token, asked.signature});
  Pending& pending = pending_[token] = {id,
                                        client.address,
                                        client.port,
                                        request.pe,
                                        request.handler,
                                        asked.before_reply,
                                        pe / pes_per_process_};
  forget(id);
  tokens_[id] = token;
  while (!timeouts_.empty() && !pending_.contains(timeouts_.front().second)) timeouts_.pop_front();
  if (plan_.timeout > Duration{0}) timeouts_.emplace_back(now + plan_.timeout, token);
  if (request.pe >= -1) return send(pending.process, payload, down);
  auto& queue = multicasts_[request.handler];
  queue.push_back(token);
  if (queue.size() == 1) return send(pending.process, payload, down);
  unfinished_ += payload.size();
  pending.payload = std::move(payload);
}

void Router::send(std::uint32_t process, const std::string& payload, Requests& down) {
  for (std::size_t at = 0; at < payload.size(); at += wire::kCcsPiece) {
    const bool last = at + wire::kCcsPiece >= payload.size();
    down.emplace_back(process, wire::CcsForward{process, last, payload.substr(at, wire::kCcsPiece)});
  }
}

/// Never 0: the launchers' own.
Router::Token Router::new_token() {
  do ++last_token_;
  while (last_token_ == 0 || pending_.contains(last_token_));
  return last_token_;
}

void Router::on(const wire::CcsAnswer& answer, Actions& out, Requests& down) {
  const auto found = pending_.find(answer.token);
  if (found == pending_.end()) return;  // its client has gone
  if (!answer.failure.empty()) return fail(answer.token, answer.failure, out, down);
  Pending& pending = found->second;
  if (!pending.begun && answer.answered && pending.client)
    out.push_back(
        to_client(*pending.client, pending.before_reply + wire::make_ccs_reply_head(answer.length)));
  if (!std::exchange(pending.begun, true)) pending.missing = answer.answered ? answer.length : 0;
  const auto size = static_cast<std::uint32_t>(std::min<std::size_t>(answer.bytes.size(), pending.missing));
  if (size > 0 && pending.client) out.push_back(to_client(*pending.client, answer.bytes.substr(0, size)));
  pending.missing -= size;
  if (pending.missing == 0) done(answer.token, out, down);
}

/// The client of this request gets an empty reply.
void Router::fail(Token token, const std::string& why, Actions& out, Requests& down) {
  const Pending& pending = pending_.at(token);
  if (pending.client && !pending.begun) {
    tell(pending.address, fmt::format("got an empty reply: {}", why), out);
    out.push_back(to_client(*pending.client, empty_reply(pending.before_reply)));
  }
  done(token, out, down);
}

/// Nobody waits for an answer to this request any more.
void Router::done(Token token, Actions& out, Requests& down) {
  const auto found = pending_.find(token);
  const Pending pending = std::move(found->second);
  pending_.erase(found);
  if (pending.client) {
    tokens_.erase(*pending.client);
    out.push_back(ClientClose{ClientKind::ccs, *pending.client});
  }
  if (pending.pe < -1) next_multicast(pending.handler, down);
}

/// What has ended, or whose client has left meanwhile, is passed over.
void Router::next_multicast(const std::string& handler, Requests& down) {
  auto& queue = multicasts_.at(handler);
  while (!queue.empty()) {
    const auto found = pending_.find(queue.front());
    if (found != pending_.end() && found->second.payload.empty()) return;  // it is under way
    if (found != pending_.end()) {
      unfinished_ -= found->second.payload.size();
      const std::string payload = std::exchange(found->second.payload, {});
      if (found->second.client) return send(found->second.process, payload, down);
      pending_.erase(found);
    }
    queue.pop_front();
  }
  multicasts_.erase(handler);
}

void Router::gone(std::uint32_t process, Actions& out, Requests& down) {
  std::vector<Token> lost;
  for (const auto& [token, pending] : pending_) {
    if (pending.process == process && pending.payload.empty()) lost.push_back(token);
  }
  for (const Token token : lost) fail(token, fmt::format("process {} is gone", process), out, down);
}

std::vector<std::string> Router::unanswered(std::uint32_t process) const {
  std::vector<std::string> lines;
  for (const auto& [token, pending] : pending_) {
    const bool concerns = pending.process == process || pending.pe < 0;
    if (!concerns || !pending.payload.empty()) continue;
    if (lines.size() == kMaxNamed) {
      lines.emplace_back("and more");
      break;
    }
    const std::string whom = pending.pe >= 0    ? fmt::format("PE {}", pending.pe)
                             : pending.pe == -1 ? "all PEs"
                                                : fmt::format("{} PEs", -std::int64_t{pending.pe});
    lines.push_back(fmt::format("'{}' for {}, from {}:{}", pending.handler, whom,
                                wire::dotted(pending.address), pending.port));
  }
  return lines;
}

void Router::refuse(ClientId id, const Wrong& wrong, Actions& out) {
  tell(clients_.at(id).address, wrong.why + ": refused", out);
  if (wrong.prefix) out.push_back(to_client(id, empty_reply(*wrong.prefix)));
  drop(id, out);
}

void Router::tell(std::uint32_t address, const std::string& what, Actions& out) {
  if (told_.size() >= kMaxNotes || !told_.emplace(address, what).second) return;
  out.push_back(Say{Tone::info, fmt::format("CCS client {} {}", wire::dotted(address), what)});
}

void Router::drop(ClientId id, Actions& out) {
  forget(id);
  out.push_back(ClientClose{ClientKind::ccs, id});
}

void Router::forget(ClientId id) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  unfinished_ -= found->second.conversation.buffered();
  clients_.erase(found);
  lobby_.leave(id);
}

void Router::finish(Actions& out) {
  if (std::exchange(finished_, true)) return;
  while (!clients_.empty()) drop(clients_.begin()->first, out);
  for (const auto& [client, token] : tokens_) out.push_back(ClientClose{ClientKind::ccs, client});
  for (const auto& [client, prefix] : fetching_) out.push_back(ClientClose{ClientKind::ccs, client});
  tokens_.clear();
  fetching_.clear();
  pending_.clear();
  multicasts_.clear();
  timeouts_.clear();
}

void Router::tick(Instant now, Actions& out, Requests& down) {
  while (const auto expired = lobby_.expire(now)) drop(*expired, out);
  while (!timeouts_.empty() && timeouts_.front().first <= now) {
    const Token token = timeouts_.front().second;
    timeouts_.pop_front();
    time_out(token, out, down);
  }
}

/// A multicast that is under way stays so.
void Router::time_out(Token token, Actions& out, Requests& down) {
  const auto found = pending_.find(token);
  if (found == pending_.end() || found->second.begun) return;
  const std::string why = fmt::format("'{}' has not answered within {:g} s (++server-timeout)",
                                      found->second.handler, seconds(plan_.timeout));
  if (found->second.pe >= -1 || !found->second.client) return fail(token, why, out, down);
  const Pending pending = found->second;
  found->second.client.reset();
  tell(pending.address, fmt::format("got an empty reply: {}", why), out);
  out.push_back(to_client(*pending.client, empty_reply(pending.before_reply)));
  out.push_back(ClientClose{ClientKind::ccs, *pending.client});
  tokens_.erase(*pending.client);
}

Instant Router::next_deadline() const {
  return timeouts_.empty() ? lobby_.next_deadline()
                           : earlier(lobby_.next_deadline(), timeouts_.front().first);
}

}  // namespace charmtree::ccs
