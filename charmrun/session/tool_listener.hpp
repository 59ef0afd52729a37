// SPDX-License-Identifier: Apache-2.0
// Where `charmrun ++exec` and ++dap find the root of a running job: whoever comes has a session of tools,
// which ends with the connection.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "charmrun/session/tool_message.hpp"
#include "charmrun/session/visitors.hpp"
#include "tree/turn/events.hpp"

namespace charmtree {

class ToolListener {
public:
  using Which = std::vector<wire::ProcessSet::Range>;
  struct Hooks {
    std::function<std::uint32_t()> processes;  // of what runs
    std::function<std::vector<ProcessPlace>(const Which&)> places;
    std::function<void(debug::ToolAsked)> ask;  // called from the loop, answered by heard()
  };
  ToolListener(io::asio::io_context& io, Hooks hooks);

  Result<void> open(const std::string& job) { return visitors_.open(kToolsDoor, job); }
  void heard(const debug::ToolHeard& heard);

private:
  bool hear(std::uint64_t ticket, ToolMessage& message);

  Hooks hooks_;
  Visitors<ToolMessage, encode_tool, next_tool> visitors_;
};

}  // namespace charmtree
