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

}  // namespace

void Router::on(const ClientOpened& event, Instant now, Actions& out) {
  if (finished_) {
    out.push_back(ClientClose{ClientKind::ccs, event.client});
    return;
  }
  clients_[event.client] = {event.address, event.port, {}};
  if (const auto evicted = lobby_.enter(event.client, now)) drop(*evicted, out);
}

void Router::on(const ClientBytes& event, Actions& out, Requests& down) {
  const auto found = clients_.find(event.client);
  if (found == clients_.end()) return;
  found->second.decoder.append(event.bytes);
  unfinished_ += event.bytes.size();
  look_at(event.client, out, down);
  if (unfinished_ > kMaxUnfinished && clients_.contains(event.client))
    refuse(event.client, "sent more than there is room for now", out);
}

void Router::on(const ClientClosed& event) {
  forget(event.client);
  const auto token = tokens_.find(event.client);
  if (token == tokens_.end()) return;
  pending_.erase(token->second);
  tokens_.erase(token);
}

void Router::start(std::uint32_t processes, std::uint32_t pes_per_process, Actions& out, Requests& down) {
  processes_ = processes;
  pes_per_process_ = pes_per_process;
  std::vector<ClientId> ids;
  for (const auto& [id, client] : clients_) ids.push_back(id);
  for (const ClientId id : ids) look_at(id, out, down);
}

void Router::look_at(ClientId id, Actions& out, Requests& down) {
  if (processes_ == 0) return;
  const auto request = clients_.at(id).decoder.next(processes_ * pes_per_process_);
  if (!request) return refuse(id, request.error().what, out);
  if (*request) forward(id, **request, down);
}

void Router::forward(ClientId id, const wire::CcsRequest& request, Requests& down) {
  const Client& client = clients_.at(id);
  const bool local = client.address >> 24 == kLoopback;
  const std::uint32_t pe = request.pe >= 0       ? static_cast<std::uint32_t>(request.pe)
                           : request.pes.empty() ? 0
                                                 : request.pes.front();
  const std::uint32_t process = pe / pes_per_process_;
  const std::uint32_t token = ++last_token_;
  const std::string payload =
      wire::make_ccs_forward(request, {local ? address_ : client.address, client.port, token});
  for (std::size_t at = 0; at < payload.size(); at += wire::kCcsPiece) {
    const bool last = at + wire::kCcsPiece >= payload.size();
    down.emplace_back(process, wire::CcsForward{process, last, payload.substr(at, wire::kCcsPiece)});
  }
  forget(id);
  tokens_[id] = token;
  pending_[token] = {id};
}

void Router::on(const wire::CcsAnswer& answer, Actions& out) {
  const auto found = pending_.find(answer.token);
  if (found == pending_.end()) return;  // its client has gone
  Pending& pending = found->second;
  const ClientId client = pending.client;
  if (!pending.begun && answer.answered)
    out.push_back(to_client(client, wire::make_ccs_reply_head(answer.length)));
  if (!std::exchange(pending.begun, true)) pending.missing = answer.answered ? answer.length : 0;
  const auto size = static_cast<std::uint32_t>(std::min<std::size_t>(answer.bytes.size(), pending.missing));
  if (size > 0) out.push_back(to_client(client, answer.bytes.substr(0, size)));
  pending.missing -= size;
  if (pending.missing > 0) return;
  pending_.erase(found);
  tokens_.erase(client);
  out.push_back(ClientClose{ClientKind::ccs, client});
}

void Router::refuse(ClientId id, const std::string& why, Actions& out) {
  const std::uint32_t address = clients_.at(id).address;
  if (told_.size() < kMaxNotes && told_.emplace(address, why).second)
    out.push_back(Say{Tone::info, fmt::format("CCS client {} {}: refused", wire::dotted(address), why)});
  out.push_back(to_client(id, wire::make_ccs_reply_head(0)));
  drop(id, out);
}

void Router::drop(ClientId id, Actions& out) {
  forget(id);
  out.push_back(ClientClose{ClientKind::ccs, id});
}

void Router::forget(ClientId id) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  unfinished_ -= found->second.decoder.buffered();
  clients_.erase(found);
  lobby_.leave(id);
}

void Router::finish(Actions& out) {
  if (std::exchange(finished_, true)) return;
  while (!clients_.empty()) drop(clients_.begin()->first, out);
  for (const auto& [client, token] : tokens_) out.push_back(ClientClose{ClientKind::ccs, client});
  tokens_.clear();
  pending_.clear();
}

void Router::tick(Instant now, Actions& out) {
  while (const auto expired = lobby_.expire(now)) drop(*expired, out);
}

}  // namespace charmtree::ccs
