// SPDX-License-Identifier: Apache-2.0
#include "debug/debug_desk.hpp"

#include <algorithm>

namespace charmtree::proto {

using What = wire::DebugOrder::What;

/// The first order of a prompt begins its session.
void DebugDesk::ask(const DebugAsked& asked, RootTurn& turn) {
  wire::DebugOrder order = asked.order;
  if (turn.is_over() && order.what == What::begin) return turn.act(DebugHeard{asked.ticket, {}, true});
  if (order.what == What::begin) sessions_.try_emplace(asked.ticket, last_ + 1);
  const auto session = sessions_.find(asked.ticket);
  if (session == sessions_.end()) return;
  order.session = session->second;
  last_ = std::max(last_, order.session);
  turn.to_all(order);
  if (order.what == What::end) sessions_.erase(session);
}

void DebugDesk::on(const wire::DebugUp& said, Actions& out) const {
  for (const auto& [ticket, session] : sessions_) {
    if (session == said.session) out.push_back(DebugHeard{ticket, said, false});
  }
}

void DebugDesk::end(RootTurn& turn) {
  while (!sessions_.empty()) {
    const std::uint64_t ticket = sessions_.begin()->first;
    ask({ticket, {0, 0, What::end, false, {}, {}}}, turn);
    turn.act(DebugHeard{ticket, {}, true});
  }
}

}  // namespace charmtree::proto
