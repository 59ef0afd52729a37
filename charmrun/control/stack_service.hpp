// SPDX-License-Identifier: Apache-2.0
// The service `stacks` (++stack-trees): a client requests the stacks of all processes, and gets a report and
// the end of the connection.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <variant>

#include "charmrun/control/listener.hpp"
#include "charmrun/report/stack_tree.hpp"
#include "stacks/events.hpp"
#include "tree/base/result.hpp"
#include "tree/wire/frame.hpp"

namespace charmtree::control {

inline constexpr std::string_view kStackService = "stacks";

/// The client's message.
struct StackRequest {
  bool raw = false;  // with all frames of the stacks
};
using StackMessage = std::variant<StackReport, StackRequest>;
Result<std::string> encode(const StackMessage& message);
bool decode(const wire::Frame& frame, StackMessage& message);

class StackService {
public:
  /// Called from the loop, and answered by answer().
  using Ask = std::function<void(stacks::StacksAsked)>;
  /// Adds the service to the listener, whose loop does not run after the end of this object.
  StackService(Listener& listener, Ask ask);
  StackService(const StackService&) = delete;
  StackService& operator=(const StackService&) = delete;
  /// Sends the report to the client with that ticket, if it is still there.
  void answer(ClientId ticket, const StackReport& report);

private:
  bool receive(ClientId client, const wire::Frame& frame);

  Listener& listener_;
  Ask ask_;
  std::set<ClientId> waiting_;  // for their reports
};

/// Asks the charmrun of that job on this machine. Blocks, 15 s at most. Error refused: it does not answer, or
/// refuses.
Result<StackReport> ask_stacks(const std::string& job, bool raw);

}  // namespace charmtree::control
