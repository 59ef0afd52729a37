// SPDX-License-Identifier: Apache-2.0
// The service `tools` (++exec, ++dap): each client has a session of tools beside the processes, which ends
// with the connection.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "charmrun/control/listener.hpp"
#include "charmrun/control/tool_message.hpp"
#include "tree/turn/events.hpp"

namespace charmtree::control {

class ToolService {
public:
  using Which = std::vector<wire::ProcessSet::Range>;
  struct Hooks {
    std::function<std::uint32_t()> processes;  // number of those that run
    std::function<std::vector<ProcessPlace>(const Which&)> places;
    std::function<void(debug::ToolAsked)> ask;  // called from the loop, answered by answer()
  };
  /// Adds the service to the listener, whose loop does not run after the end of this object.
  ToolService(Listener& listener, Hooks hooks);
  ToolService(const ToolService&) = delete;
  ToolService& operator=(const ToolService&) = delete;

  /// Sends an answer to the client that it is for.
  void answer(const debug::ToolHeard& answer);

private:
  bool receive(ClientId client, const wire::Frame& frame);
  void send(ClientId client, const ToolMessage& message);
  void end(ClientId client);

  Listener& listener_;
  Hooks hooks_;
};

}  // namespace charmtree::control
