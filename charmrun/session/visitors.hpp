// SPDX-License-Identifier: Apache-2.0
// Those of the same user who have come in by a door of a root (charmrun/session/door.hpp), and stay: each has
// a ticket, and says and hears messages (charmrun/session/framed.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "charmrun/session/door.hpp"
#include "charmrun/session/framed.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree {

/// `encode` and `next` are those of the message (encode_framed, next_framed).
template <class Message, auto encode, auto next>
class Visitors {
public:
  /// At a time; and what one may have to read before it is let go.
  static constexpr std::size_t kMost = 64, kMostUnread = 8U << 20;

  /// Called from the loop.
  struct Hooks {
    std::function<Message()> greet;                                // the first word to who has come
    std::function<bool(std::uint64_t ticket, Message&)> heard;     // false: nonsense
    std::function<void(std::uint64_t ticket)> gone = [](auto) {};  // by itself, or let go
  };
  Visitors(io::asio::io_context& io, Hooks hooks)
      : io_(io), hooks_(std::move(hooks)), listener_(io, [this](int fd, io::Listener::Peer) { admit(fd); }) {}
  Visitors(const Visitors&) = delete;
  Visitors& operator=(const Visitors&) = delete;
  ~Visitors() {
    for (auto& [ticket, visitor] : visitors_) visitor.link->close(Duration{0});
  }

  /// Error spawn_failed. A job can do without.
  Result<void> open(std::string_view door, const std::string& job) { return open_door(listener_, door, job); }
  /// It may have gone.
  void send(std::uint64_t ticket, const Message& message) {
    const auto visitor = visitors_.find(ticket);
    auto frame = encode(message);
    if (visitor == visitors_.end() || !frame) return;
    visitor->second.link->send(std::move(*frame));
    if (visitor->second.link->backlog() > kMostUnread) gone(ticket);
  }

private:
  struct Visitor {
    std::shared_ptr<io::FdLink> link;
    wire::FrameDecoder decoder{wire::kMaxClientFrame};
  };
  void admit(int fd) {
    const auto link = let_in(io_, io::UniqueFd{fd});
    if (!link || visitors_.size() >= kMost) return;
    const std::uint64_t ticket = ++last_;
    visitors_[ticket].link = link;
    link->start({[this, ticket](std::string_view bytes) { hear(ticket, bytes); },
                 [this, ticket](const io::LinkEnd&) { gone(ticket); },
                 {}});
    send(ticket, hooks_.greet());
  }
  /// What it says may be the end of it.
  void hear(std::uint64_t ticket, std::string_view bytes) {
    visitors_.at(ticket).decoder.append(bytes);
    for (auto visitor = visitors_.find(ticket); visitor != visitors_.end();
         visitor = visitors_.find(ticket)) {
      auto message = next(visitor->second.decoder);
      if (message && !message->has_value()) return;
      if (!message || !hooks_.heard(ticket, **message)) return gone(ticket);
    }
  }
  void gone(std::uint64_t ticket) {
    const auto visitor = visitors_.find(ticket);
    if (visitor == visitors_.end()) return;
    visitor->second.link->close(Duration{0});
    visitors_.erase(visitor);
    hooks_.gone(ticket);
  }

  io::asio::io_context& io_;
  Hooks hooks_;
  io::Listener listener_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Visitor> visitors_;  // by ticket
};

}  // namespace charmtree
