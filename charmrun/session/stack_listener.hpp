// SPDX-License-Identifier: Apache-2.0
// Where `charmrun ++stack-trees` finds the root of a running job: an abstract unix-domain socket, as that of
// ++status (charmrun/session/status_listener.hpp). Whoever connects, if the same user, says one letter and
// gets what all processes do, and the end of the connection. Both ends check whose the other is.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "charmrun/report/stack_tree.hpp"
#include "stacks/events.hpp"
#include "tree/base/result.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/listener.hpp"
#include "tree/turn/events.hpp"

namespace charmtree {

class StackListener {
public:
  /// Who is being answered at a time.
  static constexpr std::size_t kMost = 16;

  /// `ask` is called from the loop, and answered by seen().
  using Ask = std::function<void(stacks::StacksAsked)>;
  StackListener(io::asio::io_context& io, Ask ask);
  StackListener(const StackListener&) = delete;
  StackListener& operator=(const StackListener&) = delete;
  ~StackListener();

  /// Error spawn_failed. A job can do without.
  Result<void> open(const std::string& job);
  /// To who has asked by this ticket, if it still waits.
  void seen(std::uint64_t ticket, const StackReport& report);

private:
  class Visitor;
  void admit(int fd);

  io::asio::io_context& io_;
  Ask ask_;
  io::Listener listener_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, std::shared_ptr<Visitor>> visitors_;  // by ticket
};

/// Asks the root of that job on this machine; `raw`: with all frames. Blocks, 15 s at most. Error refused:
/// nobody answers.
Result<StackReport> ask_stacks(const std::string& job, bool raw);

}  // namespace charmtree
