// SPDX-License-Identifier: Apache-2.0
#include "stacks/root.hpp"

#include <algorithm>
#include <utility>

#include "tree/turn/process_end.hpp"

namespace charmtree::stacks {

using namespace proto;
using Why = StacksFor::Why;

namespace {

bool ends_job(const StacksAsked& question) {
  return question.asker.why == Why::time_limit || question.asker.why == Why::crash;
}

/// Returns the functions in which this process crashed, the outermost first; empty: unknown.
std::vector<std::string> crash_of(std::uint32_t process, const Stacks& stacks) {
  std::vector<std::string> names;
  for (const StackGroup& group : stacks.groups) {
    const bool has_it = std::any_of(group.which.begin(), group.which.end(), [&](const auto& range) {
      return range.first <= process && process <= range.last;
    });
    if (group.motion != Motion::crashed || !has_it) continue;
    for (const std::uint32_t frame : group.frames) names.push_back(stacks.names[frame]);
  }
  return names;
}

bool has_crashed(const Judge& judge) {
  const Ending& why = judge.verdict()->why;
  return why.process && judge.launch().all_up() &&
         (judge.exits().has_crashed(*why.process) || tells_crash(why.how));
}

}  // namespace

void StacksRoot::ask(const StacksAsked& question) {
  const Why why = question.asker.why;
  const auto is_same = [&](const StacksAsked& each) { return each.asker.why == why; };
  const auto behind = waiting_.begin() + (is_open_ ? 1 : 0);
  if (why != Why::asked && std::any_of(behind, waiting_.end(), is_same)) return;
  waiting_.insert(ends_job(question) ? behind : waiting_.end(), question);
}

void StacksRoot::turn(RootTurn& turn) {
  const auto& verdict = turn.judge().verdict();
  const bool is_new = !std::exchange(knows_end_, verdict.has_value()) && verdict;
  if (is_new && has_crashed(turn.judge())) ask({{Why::crash}});
  if (verdict && !holds_end(*verdict)) return give_up(turn);
  if (is_open_ || waiting_.empty()) return;
  is_open_ = true;
  const StacksAsked& question = waiting_.front();
  const bool crash = question.asker.why == Why::crash;
  turn.to_all(StacksWanted{++asked_, question.raw, crash, crash ? kCrashPatience : kPatience});
}

void StacksRoot::up(const StacksUp& answer, RootTurn& turn) {
  Judge& judge = turn.judge();
  if (!is_open_ || answer.number != asked_) return;
  is_open_ = false;
  const StacksFor asker = waiting_.front().asker;
  waiting_.pop_front();
  has_seen_last_ = has_seen_last_ || asker.why == Why::time_limit;
  if (const auto& verdict = judge.verdict(); asker.why == Why::crash && verdict && verdict->why.process)
    judge.decision().crashed_in(crash_of(*verdict->why.process, answer.stacks));
  turn.act(StacksSeen{asker, answer.stacks});
}

bool StacksRoot::holds_end(const Verdict& verdict) const {
  return verdict.end.mode != wire::EndMode::kill &&
         std::any_of(waiting_.begin(), waiting_.end(),
                     [](const StacksAsked& each) { return each.asker.why == Why::crash; });
}

/// No process is left: answers the clients that wait with nothing.
void StacksRoot::give_up(RootTurn& turn) {
  for (const StacksAsked& each : std::exchange(waiting_, {})) {
    has_seen_last_ = has_seen_last_ || each.asker.why == Why::time_limit;
    if (each.asker.why == Why::asked) turn.act(StacksSeen{each.asker, {}});
  }
  is_open_ = false;
}

void StacksRoot::take_over(StacksRoot before) {
  waiting_ = std::move(before.waiting_);
}

}  // namespace charmtree::stacks
