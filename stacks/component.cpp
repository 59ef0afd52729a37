// SPDX-License-Identifier: Apache-2.0
#include "stacks/component.hpp"

#include <algorithm>
#include <utility>

#include "tree/job/host_processes.hpp"
#include "tree/overlay/launch.hpp"

namespace charmtree::stacks {

using namespace proto;

namespace {

/// Checks that a child speaks for processes below it, and for no more than there are.
bool is_allowed(LinkId link, const Stacks& stacks, const Subtree& subtree) {
  std::uint64_t processes = 0;
  for (const StackGroup& group : stacks.groups) processes += group.processes;
  return processes <= subtree.most_processes_of(link) && subtree.speaks_for(link, stacks.groups);
}

}  // namespace

void StacksComponent::down(const StacksWanted& wanted, Turn& turn) {
  const Seat seat = turn.seat();
  Open open{wanted.number, turn.real_now() + wanted.within, seat.processes != nullptr, {}, {}};
  StacksWanted below = wanted;
  below.within = std::max(wanted.within - kLevel, Duration{kLevel});
  if (seat.is_root())
    open.until += kLevel;
  else
    turn.hand_down_all(below);
  for (const auto& [link, none] : seat.launch.subtree().links_with_processes()) {
    const Child* child = seat.launch.find(link);
    if (child != nullptr && child->serves()) open.below.insert(link);
  }
  if (open.awaits_host) turn.act(ReadStacks{wanted.number, wanted.raw, wanted.crashed, below.within});
  open_ = std::move(open);
}

void StacksComponent::on(const StacksRead& read, Turn&) {
  if (!open_ || open_->number != read.number || !open_->awaits_host) return;
  open_->awaits_host = false;
  open_->stacks.add(read.stacks);
}

/// Processes that have been moved meanwhile count as unread.
void StacksComponent::up(LinkId link, const StacksUp& answer, Turn& turn) {
  if (!open_ || open_->number != answer.number || !open_->below.contains(link)) return;
  if (!is_allowed(link, answer.stacks, turn.seat().launch.subtree())) return;
  open_->below.erase(link);
  open_->stacks.add(answer.stacks);
}

void StacksComponent::turn(Turn& turn) {
  if (!open_) return;
  const Seat seat = turn.seat();
  const bool is_late = turn.real_now() >= open_->until;
  std::erase_if(open_->below, [&](LinkId link) {
    const Child* child = seat.launch.find(link);
    const bool is_lost = child == nullptr || !child->serves();
    if (is_lost || is_late)
      open_->stacks.add_unread(seat.launch.subtree().processes_below(link),
                               is_lost ? "its launcher is lost" : "its launcher has not answered in time");
    return is_lost || is_late;
  });
  if (open_->awaits_host && is_late)
    open_->stacks.add_unread(seat.processes->local().ranges(), "it could not be looked at in time");
  else if (open_->awaits_host || !open_->below.empty())
    return;
  Open done = *std::exchange(open_, std::nullopt);
  if (turn.way_up() == WayUp::open) turn.hand_up(StacksUp{done.number, done.stacks.take()});
}

}  // namespace charmtree::stacks
