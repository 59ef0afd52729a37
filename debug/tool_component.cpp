// SPDX-License-Identifier: Apache-2.0
#include "debug/tool_component.hpp"

#include <utility>

#include "tree/job/host_processes.hpp"
#include "tree/overlay/launch.hpp"

namespace charmtree::debug {

using namespace proto;

using Order = ToolOrder;
using wire::ProcessSet;

namespace {

ToolOrder for_these(const ToolOrder& order, std::vector<ProcessSet::Range> which) {
  ToolOrder part = order;
  part.which = std::move(which);
  return part;
}

/// For the processes of this host, if it has any of them.
void pass_to_host(const ToolOrder& order, const HostProcesses* processes, Turn& turn) {
  if (processes == nullptr) return;
  ProcessSet own;
  RunTool run{order};
  for (const std::uint32_t process : processes->local().among(order.which)) own.add(process);
  if (own.empty()) return;
  run.order.which = own.ranges();
  for (const std::uint32_t process : processes->living()) {
    if (own.contains(process)) run.names.push_back(processes->name_of(process));
  }
  turn.act(std::move(run));
}

}  // namespace

void ToolComponent::fail(std::uint32_t session, const char* why, std::vector<ProcessSet::Range> which,
                         Turn& turn) {
  if (!which.empty()) turn.tell_up(ToolSaid{session, ToolSaid::What::failed, 0, why, std::move(which)});
}

/// Whoever has joined the tree since has no part in it: each launcher tells of those that it was to start and
/// has not.
void ToolComponent::begin(Session& session, const ToolOrder& order, Turn& turn) {
  const Seat seat = turn.seat();
  session = {};
  ProcessSet reached;
  if (seat.processes != nullptr) {
    for (const std::uint32_t process : seat.processes->local().among(order.which)) reached.add(process);
  }
  session.is_here = !reached.empty();
  for (const auto& [link, which] : seat.launch.subtree().split(order.which)) {
    session.links.insert(link);
    reached.add_all(which);
  }
  std::vector<ProcessSet::Range> unreached;
  for (const auto& range : order.which) {
    for (const auto& part : reached.missing(range)) unreached.push_back(part);
  }
  fail(order.session, "no launcher is there for it", std::move(unreached), turn);
}

void ToolComponent::end(const Session& session, const ToolOrder& order, Turn& turn) {
  for (const LinkId link : session.links) turn.hand_down_by(link, order);
  if (session.is_here) turn.act(RunTool{order});
}

void ToolComponent::down(const ToolOrder& order, Turn& turn) {
  if (order.what == Order::What::begin) begin(sessions_[order.session], order, turn);
  const auto session = sessions_.find(order.session);
  if (session == sessions_.end()) return;
  if (order.what == Order::What::end) {
    end(session->second, order, turn);
    sessions_.erase(session);
    return;
  }
  for (auto& [link, which] : turn.seat().launch.subtree().split(order.which)) {
    if (session->second.links.contains(link)) turn.hand_down_by(link, for_these(order, which));
  }
  if (session->second.is_here) pass_to_host(order, turn.seat().processes, turn);
}

void ToolComponent::on(const ToolSpoke& spoke, Turn& turn) const {
  if (sessions_.contains(spoke.said.session)) turn.tell_up(spoke.said);
}

void ToolComponent::parent_lost(Turn& turn) {
  for (const auto& [number, session] : std::exchange(sessions_, {})) {
    ToolOrder over;
    over.session = number;
    over.what = Order::What::end;
    end(session, over, turn);
  }
}

void ToolComponent::turn(Turn& turn) {
  const Seat seat = turn.seat();
  for (auto& [number, session] : sessions_) {
    for (auto link = session.links.begin(); link != session.links.end();) {
      const Child* child = seat.launch.find(*link);
      const bool is_lost = child == nullptr || !child->serves();
      if (is_lost) fail(number, "its launcher is lost", seat.launch.subtree().processes_below(*link), turn);
      link = is_lost ? session.links.erase(link) : std::next(link);
    }
  }
}

}  // namespace charmtree::debug
