// SPDX-License-Identifier: Apache-2.0
#include "charmrun/session/debug_listener.hpp"

#include <utility>

#include "charmrun/session/door.hpp"
#include "tree/base/overloaded.hpp"
#include "tree/io/unique_fd.hpp"
#include "tree/wire/greeting.hpp"

namespace charmtree {

DebugListener::DebugListener(io::asio::io_context& io, Hooks hooks)
    : io_(io), hooks_(std::move(hooks)), listener_(io, [this](int fd, io::Listener::Peer) { admit(fd); }) {}

DebugListener::~DebugListener() {
  for (auto& [ticket, visitor] : visitors_) visitor.link->close(Duration{0});
}

Result<void> DebugListener::open(const std::string& job) {
  return open_door(listener_, kDebugDoor, job);
}

void DebugListener::admit(int fd) {
  const auto link = let_in(io_, io::UniqueFd{fd});
  if (!link || visitors_.size() >= kMost) return;
  const std::uint64_t ticket = ++last_;
  visitors_[ticket].link = link;
  link->start({[this, ticket](std::string_view bytes) { hear(ticket, bytes); },
               [this, ticket](const io::LinkEnd&) { gone(ticket); },
               {}});
  send(ticket, DebugJob{wire::make_greeting(), hooks_.processes()});
}

/// What it says may be the end of it.
void DebugListener::hear(std::uint64_t ticket, std::string_view bytes) {
  visitors_.at(ticket).decoder.append(bytes);
  for (auto visitor = visitors_.find(ticket); visitor != visitors_.end(); visitor = visitors_.find(ticket)) {
    auto message = next_debug(visitor->second.decoder);
    if (message && !message->has_value()) return;
    if (!message) return gone(ticket);
    const Overloaded act{[&](wire::DebugOrder& order) {
                           if (order.what == wire::DebugOrder::What::begin) visitor->second.begin = order;
                           hooks_.ask({ticket, std::move(order)});
                         },
                         [&](auto&) { gone(ticket); }};
    std::visit(act, **message);
  }
}

void DebugListener::send(std::uint64_t ticket, const DebugMessage& message) {
  const auto visitor = visitors_.find(ticket);
  auto frame = encode_debug(message);
  if (visitor == visitors_.end() || !frame) return;
  visitor->second.link->send(std::move(*frame));
  if (visitor->second.link->backlog() > kMostUnread) gone(ticket);
}

void DebugListener::gone(std::uint64_t ticket) {
  const auto visitor = visitors_.find(ticket);
  if (visitor == visitors_.end()) return;
  visitor->second.link->close(Duration{0});
  visitors_.erase(visitor);
  hooks_.ask({ticket, {0, 0, wire::DebugOrder::What::end, false, {}, {}}});
}

void DebugListener::has_begun(const wire::DebugOrder& order) {
  for (const auto& range : order.which) held_.add(range);
  if (held_.size() >= hooks_.processes()) std::exchange(hooks_.all_held, nullptr)();
}

void DebugListener::heard(const proto::DebugHeard& heard) {
  const auto visitor = visitors_.find(heard.ticket);
  if (hooks_.all_held && visitor != visitors_.end() && heard.up.done == visitor->second.begin.number)
    has_begun(visitor->second.begin);
  heard.over ? send(heard.ticket, DebugOver{}) : send(heard.ticket, heard.up);
}

}  // namespace charmtree
