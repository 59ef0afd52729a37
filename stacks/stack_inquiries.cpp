// SPDX-License-Identifier: Apache-2.0
#include "stacks/stack_inquiries.hpp"

#include <algorithm>
#include <utility>

namespace charmtree::proto {

using Why = StacksFor::Why;

/// Who has asked before, and has yet to be told, is told the newer truth.
void StackInquiries::ask(const StacksAsked& question) {
  const Why why = question.asker.why;
  const auto is_same = [&](const StacksAsked& each) { return each.asker.why == why; };
  const auto behind = waiting_.begin() + (is_open_ ? 1 : 0);
  if (why != Why::asked && std::any_of(behind, waiting_.end(), is_same)) return;
  waiting_.insert(why == Why::time_limit ? behind : waiting_.end(), question);
}

void StackInquiries::turn(RootTurn& turn) {
  if (is_open_ || waiting_.empty()) return;
  is_open_ = true;
  turn.to_all(wire::StacksWanted{++asked_, waiting_.front().raw, kPatience});
}

void StackInquiries::on(const wire::StacksUp& answer, Actions& out) {
  if (!is_open_ || answer.number != asked_) return;
  is_open_ = false;
  const StacksFor asker = waiting_.front().asker;
  waiting_.pop_front();
  has_seen_last_ = has_seen_last_ || asker.why == Why::time_limit;
  out.push_back(StacksSeen{asker, answer.stacks});
}

void StackInquiries::give_up(Actions& out) {
  for (const StacksAsked& each : std::exchange(waiting_, {})) {
    has_seen_last_ = has_seen_last_ || each.asker.why == Why::time_limit;
    if (each.asker.why == Why::asked) out.push_back(StacksSeen{each.asker, {}});
  }
  is_open_ = false;
}

void StackInquiries::take_over(StackInquiries before) {
  waiting_ = std::move(before.waiting_);
}

}  // namespace charmtree::proto
