// SPDX-License-Identifier: Apache-2.0
#include "debug/debug_component.hpp"

#include <algorithm>
#include <utility>

#include "tree/job/host_processes.hpp"
#include "tree/overlay/launch.hpp"

namespace charmtree::debug {

using namespace proto;

using What = DebugOrder::What;

namespace {

bool needs_answer(What what) {
  return what == What::begin || what == What::command;
}

}  // namespace

void DebugComponent::begin(Session& session, Turn& turn) {
  const Seat seat = turn.seat();
  session = {};
  for (const auto& [link, none] : seat.launch.subtree().links_with_processes()) {
    const Child* child = seat.launch.find(link);
    if (child != nullptr && child->serves()) session.links.insert(link);
  }
}

/// Whoever has joined the tree since the session began has no part in it.
void DebugComponent::down(const DebugOrder& order, Turn& turn) {
  const Seat seat = turn.seat();
  turn.hand_down_all(order);
  if (seat.processes != nullptr) turn.act(Debug{order});
  if (order.what == What::end) {
    sessions_.erase(order.session);
    return;
  }
  if (order.what == What::begin) begin(sessions_[order.session], turn);
  const auto session = sessions_.find(order.session);
  if (session == sessions_.end() || !needs_answer(order.what)) return;
  session->second.number = order.number;
  session->second.awaits_host = seat.processes != nullptr;
  session->second.below = session->second.links;
  session->second.said.keep_apart(order.each);
}

void DebugComponent::await(Session& session, Instant now) {
  if (!session.said.empty()) session.due = earlier(session.due, now + kTogether);
}

void DebugComponent::on(const DebugSaid& said, Turn& turn) {
  const auto session = sessions_.find(said.session);
  if (session == sessions_.end()) return;
  session->second.said.add(said.said);
  if (said.done != 0 && said.done == session->second.number) session->second.awaits_host = false;
  await(session->second, turn.real_now());
}

/// Of a process that has been moved meanwhile nothing is heard.
void DebugComponent::up(LinkId link, const DebugUp& said, Turn& turn) {
  const auto session = sessions_.find(said.session);
  if (session == sessions_.end() || !session->second.links.contains(link)) return;
  if (!turn.seat().launch.subtree().speaks_for(link, said.said.answers)) return;
  session->second.said.add(said.said);
  if (said.done != 0 && said.done == session->second.number) session->second.below.erase(link);
  await(session->second, turn.real_now());
}

void DebugComponent::parent_lost(Turn& turn) {
  for (const auto& [number, session] : std::exchange(sessions_, {})) {
    const DebugOrder end{number, 0, What::end, false, {}, {}};
    turn.hand_down_all(end);
    if (turn.seat().processes != nullptr) turn.act(Debug{end});
  }
}

void DebugComponent::lose_links(Session& session, Turn& turn) {
  const Seat seat = turn.seat();
  std::erase_if(session.links, [&](LinkId link) {
    const Child* child = seat.launch.find(link);
    if (child != nullptr && child->serves()) return false;
    session.said.add(AnswerSet::Kind::gone, "its launcher is lost",
                     seat.launch.subtree().processes_below(link));
    session.below.erase(link);
    await(session, turn.real_now());
    return true;
  });
}

void DebugComponent::turn(Turn& turn) {
  for (auto& [number, session] : sessions_) {
    lose_links(session, turn);
    const bool is_done = session.number != 0 && !session.awaits_host && session.below.empty();
    if (!is_done && turn.real_now() < session.due) continue;
    session.due = kNever;
    const std::uint32_t done = is_done ? std::exchange(session.number, 0) : 0;
    if (turn.way_up() == WayUp::open) turn.hand_up(DebugUp{number, done, session.said.take()});
  }
}

Instant DebugComponent::next_real_deadline() const {
  Instant deadline = kNever;
  for (const auto& [number, session] : sessions_) deadline = earlier(deadline, session.due);
  return deadline;
}

}  // namespace charmtree::debug
