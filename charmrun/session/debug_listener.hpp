// SPDX-License-Identifier: Apache-2.0
// Where `charmrun ++gdb` finds the root of a running job: whoever comes has a session with the debuggers of
// all hosts, which ends with the connection.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "charmrun/session/debug_message.hpp"
#include "charmrun/session/visitors.hpp"
#include "tree/turn/events.hpp"

namespace charmtree {

class DebugListener {
public:
  struct Hooks {
    std::function<std::uint32_t()> processes;    // of what runs
    std::function<void(debug::DebugAsked)> ask;  // called from the loop, answered by heard()
    std::function<void()> all_held = {};         // called once, when each process has been in a session
  };
  DebugListener(io::asio::io_context& io, Hooks hooks);

  Result<void> open(const std::string& job) { return visitors_.open(kDebugDoor, job); }
  void heard(const debug::DebugHeard& heard);

private:
  bool hear(std::uint64_t ticket, DebugMessage& message);
  void has_begun(const debug::DebugOrder& order);

  Hooks hooks_;
  wire::ProcessSet held_;                             // have been in a session
  std::map<std::uint64_t, debug::DebugOrder> begun_;  // by ticket: the first order
  Visitors<DebugMessage, encode_debug, next_debug> visitors_;
};

}  // namespace charmtree
