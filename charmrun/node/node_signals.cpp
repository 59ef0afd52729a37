// SPDX-License-Identifier: Apache-2.0
// Signals of the user's that do not end the job, on their way down. A suspended launcher keeps its link and
// hears everything, but its time stands still (JobClock).
#include "charmrun/node/node.hpp"
#include "tree/base/signals.hpp"

namespace charmtree {

using namespace proto;

void Node::handle(const InputRead& event) {
  if (!desk_) return;
  DeskOrders orders;
  desk_->input(event, orders);
  pass_on(orders);
}

void Node::handle(const UserSignal& event) {
  if (!desk_) return;
  DeskOrders orders;
  desk_->signal(event.signal, now_, *out_, orders);
  pass_on(orders);
}

/// A program may do something of its own when it is told to stop, and has kStopAfter for that. Nobody may
/// refuse, as all would who are in a session of their own: the kernel ignores SIGTSTP there.
void Node::suspend(bool on) {
  if (on == clock_.stands() || (on && killing_)) return;
  if (launch_) hand_down_all(wire::Suspend{on});
  if (on)
    clock_.stop(real_now_);
  else
    clock_.go_on(real_now_);
  if (!on) watch_.resume(real_now_);
  now_ = clock_.at(real_now_);
  stop_at_ = on && processes_ ? real_now_ + kStopAfter : kNever;
  if (processes_) processes_->signal(on ? signals::kTerminalStop : signals::kContinue, *out_);
}

/// Who reads the times of lines compares them with clocks on the wall.
void Node::show_real_times() {
  for (Action& action : *out_) {
    if (auto* show = std::get_if<Show>(&action); show && show->output.read != kNever)
      show->output.read += real_now_ - now_;
  }
}

void Node::advance_suspension() {
  if (real_now_ < stop_at_) return;
  stop_at_ = kNever;
  processes_->signal(signals::kStop, *out_);
}

}  // namespace charmtree
