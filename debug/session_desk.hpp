// SPDX-License-Identifier: Apache-2.0
// The root's half of what others of the same user do with the processes of its job for as long as they are
// connected: debugger prompts (`charmrun ++gdb`), and tools beside processes (++exec, ++dap). Whoever is
// there has a ticket, by which the shell knows him, and a session, by which the launchers do.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>

#include "debug/events.hpp"
#include "tree/job/root_turn.hpp"

namespace charmtree::debug {

/// `Asked` has a ticket and an order, `Heard` a ticket and what has been `Said`; orders begin and end.
template <class Asked, class Said, class Heard>
class SessionDesk {
public:
  using Order = decltype(Asked::order);
  using What = decltype(Order::what);

  /// `order.session` is given here. The first order of a ticket begins its session.
  void on(const Asked& asked, proto::RootTurn& turn) {
    Order order = asked.order;
    if (turn.is_over() && order.what == What::begin) return turn.act(Heard{asked.ticket, {}, true});
    if (order.what == What::begin) sessions_.try_emplace(asked.ticket, last_ + 1);
    const auto session = sessions_.find(asked.ticket);
    if (session == sessions_.end()) return;
    order.session = session->second;
    last_ = std::max(last_, order.session);
    turn.spread(order);
    if (order.what == What::end) sessions_.erase(session);
  }
  void up(const Said& said, proto::RootTurn& turn) const {
    for (const auto& [ticket, session] : sessions_) {
      if (session == said.session) turn.act(Heard{ticket, said, false});
    }
  }
  /// Somebody may hold processes: those for which others wait may be among them.
  bool is_open() const { return !sessions_.empty(); }
  /// Ends all sessions when the run is over.
  void turn(proto::RootTurn& turn) {
    while (turn.is_over() && !sessions_.empty()) {
      const std::uint64_t ticket = sessions_.begin()->first;
      Order over;
      over.what = What::end;
      on({ticket, over}, turn);
      turn.act(Heard{ticket, {}, true});
    }
  }

private:
  std::map<std::uint64_t, std::uint32_t> sessions_;  // by ticket
  std::uint32_t last_ = 0;
};

/// A process can be in one session of prompts, as it has one tracer.
using DebugDesk = SessionDesk<DebugAsked, DebugUp, DebugHeard>;
using ToolDesk = SessionDesk<ToolAsked, ToolSaid, ToolHeard>;

}  // namespace charmtree::debug
