// SPDX-License-Identifier: Apache-2.0
// The service `debug` (++gdb): each client has a session with the debuggers of all hosts, which ends with the
// connection.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "charmrun/control/debug_message.hpp"
#include "charmrun/control/listener.hpp"
#include "tree/turn/events.hpp"

namespace charmtree::control {

class DebugService {
public:
  struct Hooks {
    std::function<std::uint32_t()> processes;    // number of those that run
    std::function<void(debug::DebugAsked)> ask;  // called from the loop, answered by answer()
    std::function<void()> all_held = {};         // called once, when each process has been in a session
  };
  /// Adds the service to the listener, whose loop does not run after the end of this object.
  DebugService(Listener& listener, Hooks hooks);
  DebugService(const DebugService&) = delete;
  DebugService& operator=(const DebugService&) = delete;

  /// Sends an answer to the client that it is for.
  void answer(const debug::DebugHeard& answer);

private:
  bool receive(ClientId client, const wire::Frame& frame);
  void send(ClientId client, const DebugMessage& message);
  void end(ClientId client);
  void has_begun(const debug::DebugOrder& order);

  Listener& listener_;
  Hooks hooks_;
  wire::ProcessSet held_;                        // have been in a session
  std::map<ClientId, debug::DebugOrder> begun_;  // the first order of each client
};

}  // namespace charmtree::control
