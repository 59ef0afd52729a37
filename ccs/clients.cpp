// SPDX-License-Identifier: Apache-2.0
#include "ccs/clients.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tree/wire/ipv4.hpp"

namespace charmtree::ccs {

using namespace proto;

namespace {

ClientSend to_client(ClientId client, std::string bytes) {
  return {ClientKind::ccs, client, std::move(bytes)};
}

}  // namespace

void Clients::on(const ClientOpened& event, Instant now, Actions& out) {
  if (finished_) {
    out.push_back(ClientClose{ClientKind::ccs, event.client});
    return;
  }
  clients_[event.client] = {event.address, event.port};
  if (const auto evicted = pending_.enter(event.client, now)) close(*evicted, out);
}

void Clients::on(const ClientBytes& event, Actions& out) {
  const auto found = clients_.find(event.client);
  if (found == clients_.end() || !found->second.conversation) return;
  found->second.conversation->append(event.bytes);
  unfinished_ += event.bytes.size();
  to_hear_.push_back(event.client);
  if (unfinished_ > kMaxUnfinished) make_room(out);
}

/// Who has sent most without finishing it has to go.
void Clients::make_room(Actions& out) {
  const auto kept = [](const auto& entry) {
    return entry.second.conversation ? entry.second.conversation->buffered() : 0;
  };
  const auto most = std::max_element(clients_.begin(), clients_.end(),
                                     [&](const auto& a, const auto& b) { return kept(a) < kept(b); });
  if (most != clients_.end() && kept(*most) > 0)
    drop(most->first, "sent more than there is room for now", out);
}

bool Clients::awaits_reply(const Client& client) {
  return !client.in_session && (!client.conversation || client.conversation->is_whole());
}

void Clients::on(const ClientClosed& event, Instant now, Actions& out) {
  const auto found = clients_.find(event.client);
  if (event.listens && found != clients_.end() && awaits_reply(found->second)) {
    if (const auto evicted = listening_.enter(event.client, now)) close(*evicted, out);
  } else if (event.listens) {
    close(event.client, out);
  } else {
    forget(event.client);
    closed_.push_back(event.client);
  }
}

void Clients::hear_all() {
  to_hear_.clear();
  for (const auto& [id, client] : clients_) to_hear_.push_back(id);
}

std::optional<Clients::Heard> Clients::hear(std::uint32_t pes_of_job, Instant now, Actions& out) {
  while (!to_hear_.empty()) {
    const ClientId id = to_hear_.front();
    const auto found = clients_.find(id);
    if (found == clients_.end() || !found->second.conversation || found->second.paused) {
      to_hear_.pop_front();
      continue;
    }
    Conversation& conversation = *found->second.conversation;
    const std::size_t before = conversation.buffered();
    auto step = conversation.next(guard_, pes_of_job);
    unfinished_ -= before - conversation.buffered();
    if (!step) {
      to_hear_.pop_front();
      wait_for_more(id, now, out);
      continue;
    }
    if (auto heard = follow(id, std::move(*step), out)) return heard;
  }
  return {};
}

/// A request that has begun must be complete in time, and a whole one may wait for the job to start.
void Clients::wait_for_more(ClientId id, Instant now, Actions& out) {
  const Client& client = clients_.at(id);
  if (client.conversation->is_whole()) return pending_.leave(id);
  if (!client.in_session || pending_.contains(id)) return;
  if (const auto evicted = pending_.enter(id, now)) close(*evicted, out);
}

/// What a client has said, other than a request, is answered here.
std::optional<Clients::Heard> Clients::follow(ClientId id, Step step, Actions& out) {
  if (auto* asked = std::get_if<Asked>(&step)) return heard(id, std::move(*asked), out);
  if (const auto* wrong = std::get_if<Wrong>(&step)) {
    drop(id, *wrong, out);
  } else if (const auto* unfit = std::get_if<Unfit>(&step)) {
    ++clients_.at(id).under_way;
    tell(clients_.at(id).address, unfit->why + ": refused", out);
    refuse({id, unfit->id, {}}, unfit->why, out);
  } else {
    auto& reply = std::get<Reply>(step);
    if (!reply.bytes.empty()) out.push_back(to_client(id, std::move(reply.bytes)));
    if (reply.last)
      close(id, out);
    else if (clients_.at(id).conversation->session() != nullptr)
      enter_session(id, out);
  }
  return {};
}

void Clients::enter_session(ClientId id, Actions& out) {
  Client& client = clients_.at(id);
  if (client.in_session) return;
  if (sessions_ >= kMaxSessions) return drop(id, "wants one session too many", out);
  client.in_session = true;
  ++sessions_;
  pending_.leave(id);
}

Clients::Heard Clients::heard(ClientId id, Asked asked, Actions& out) {
  Client& client = clients_.at(id);
  Heard heard{{id, asked.id, asked.before_reply}, client.address, client.port, std::move(asked)};
  pending_.leave(id);
  if (!client.in_session) {
    unfinished_ -= client.conversation->buffered();
    client.conversation.reset();
  } else if (++client.under_way >= kMaxInSession) {
    client.paused = true;
    out.push_back(PauseClient{id, true});
  }
  return heard;
}

void Clients::reply(const ReplyTo& to, Piece piece, Actions& out) {
  if (to.id) return message(to, piece.last ? Status::answered : Status::more, piece.bytes, out);
  if (piece.first) piece.bytes.insert(0, to.prefix + wire::make_ccs_reply_head(piece.length));
  if (!piece.bytes.empty()) out.push_back(to_client(to.client, std::move(piece.bytes)));
  if (piece.last) close(to.client, out);
}

void Clients::no_reply(const ReplyTo& to, Actions& out) {
  if (to.id) return message(to, Status::no_reply, {}, out);
  close(to.client, out);
}

void Clients::refuse(const ReplyTo& to, const std::string& why, Actions& out) {
  if (to.id) return message(to, Status::failed, why, out);
  reply(to, {}, out);
}

void Clients::message(const ReplyTo& to, Status status, std::string_view bytes, Actions& out) {
  const auto found = clients_.find(to.client);
  if (found == clients_.end()) return;
  Client& client = found->second;
  out.push_back(to_client(to.client, client.conversation->session()->message(*to.id, status, bytes)));
  if (status == Status::more || --client.under_way > kMaxInSession / 2 || !client.paused) return;
  client.paused = false;
  out.push_back(PauseClient{to.client, false});
  to_hear_.push_back(to.client);
}

void Clients::drop(ClientId id, const std::string& why, Actions& out) {
  drop(id, Wrong{why, clients_.at(id).conversation->reply_prefix()}, out);
}

void Clients::drop(ClientId id, const Wrong& wrong, Actions& out) {
  tell(clients_.at(id).address, wrong.why + ": refused", out);
  if (wrong.prefix) out.push_back(to_client(id, *wrong.prefix + wire::make_ccs_reply_head(0)));
  close(id, out);
}

void Clients::tell(std::uint32_t address, const std::string& what, Actions& out) {
  std::string cause = what;
  std::erase_if(cause, [](char c) { return c >= '0' && c <= '9'; });
  if (told_.size() >= kMaxNotes || !told_.emplace(address, cause).second) return;
  out.push_back(Say{Tone::info, fmt::format("CCS client {} {}", wire::dotted(address), what)});
  if (told_.size() == kMaxNotes)
    out.push_back(Say{Tone::info, "further refusals of CCS clients are not told"});
}

void Clients::close(ClientId id, Actions& out) {
  forget(id);
  closed_.push_back(id);
  out.push_back(ClientClose{ClientKind::ccs, id});
}

void Clients::forget(ClientId id) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  if (found->second.conversation) unfinished_ -= found->second.conversation->buffered();
  if (found->second.in_session) --sessions_;
  clients_.erase(found);
  pending_.leave(id);
  listening_.leave(id);
}

void Clients::finish(Actions& out) {
  if (std::exchange(finished_, true)) return;
  while (!clients_.empty()) close(clients_.begin()->first, out);
}

void Clients::tick(Instant now, Actions& out) {
  while (const auto expired = listening_.expire(now)) close(*expired, out);
  while (const auto expired = pending_.expire(now))
    drop(*expired, fmt::format("sent no whole request within {:g} s", seconds(kRequestTime)), out);
}

}  // namespace charmtree::ccs
