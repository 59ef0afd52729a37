// SPDX-License-Identifier: Apache-2.0
// Where `charmrun ++gdb` finds the root of a running job: an abstract unix-domain socket, as that of ++status
// (charmrun/session/status_listener.hpp). Whoever connects, if the same user, has a session with the
// debuggers of all hosts, which ends with the connection. Both ends check whose the other is.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "charmrun/session/debug_message.hpp"
#include "tree/base/result.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/link/fd_link.hpp"
#include "tree/io/listener.hpp"
#include "tree/turn/events.hpp"

namespace charmtree {

class DebugListener {
public:
  /// Prompts at a time; and what one may have to read before it is let go.
  static constexpr std::size_t kMost = 64, kMostUnread = 8U << 20;

  struct Hooks {
    std::function<std::uint32_t()> processes;    // of what runs
    std::function<void(proto::DebugAsked)> ask;  // called from the loop, answered by heard()
    std::function<void()> all_held = {};         // called once, when each process has been in a session
  };
  DebugListener(io::asio::io_context& io, Hooks hooks);
  DebugListener(const DebugListener&) = delete;
  DebugListener& operator=(const DebugListener&) = delete;
  ~DebugListener();

  /// Error spawn_failed. A job can do without.
  Result<void> open(const std::string& job);
  void heard(const proto::DebugHeard& heard);

private:
  struct Visitor {
    std::shared_ptr<io::FdLink> link;
    wire::FrameDecoder decoder{wire::kMaxClientFrame};
    wire::DebugOrder begin = {};  // its first order
  };
  void admit(int fd);
  void hear(std::uint64_t ticket, std::string_view bytes);
  void send(std::uint64_t ticket, const DebugMessage& message);
  void gone(std::uint64_t ticket);
  void has_begun(const wire::DebugOrder& order);

  io::asio::io_context& io_;
  Hooks hooks_;
  io::Listener listener_;
  std::uint64_t last_ = 0;
  wire::ProcessSet held_;                      // have been in a session
  std::map<std::uint64_t, Visitor> visitors_;  // by ticket
};

}  // namespace charmtree
