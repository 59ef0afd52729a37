// SPDX-License-Identifier: Apache-2.0
#include "tree/job/shutdown.hpp"

#include <algorithm>
#include <utility>

#include "tree/base/signals.hpp"
#include "tree/job/host_processes.hpp"
#include "tree/overlay/launch.hpp"

namespace charmtree::proto {

namespace {
/// Slack that a launcher gives its children beyond its own SIGKILL before it reports them as unconfirmed:
/// the root's, how much less it is at each level below, and the least.
constexpr Duration kChildSlack = 3s, kSlackPerLevel = 400ms, kLeastSlack = 1s;

/// A launcher that comes so much later than it wanted has not run.
constexpr Duration kLate = 500ms;

/// A launcher deeper down gives up earlier, so that a silent host is named by its own parent.
Duration child_slack(const Seat& seat) {
  return std::max(kLeastSlack, kChildSlack - seat.level * kSlackPerLevel);
}
}  // namespace

Shutdown::Order Shutdown::order(const wire::End& end, Turn& turn) {
  const Seat seat = turn.seat();
  const bool kill = end.mode == wire::EndMode::kill;
  const bool first = step_ == Step::no;
  const bool for_good = stays_ && !end.stay;
  if (!first && !for_good && (!kill || kills_)) return Order::ignored;
  if (first || for_good) stays_ = end.stay;
  over_ = Over::no;
  end_ = end;
  kills_ = kill;
  const Duration grace = kill ? Duration{0} : seat.job.grace;
  give_up_at_ = earlier(give_up_at_, turn.now() + grace + child_slack(seat));
  if (first || step_ == Step::asked) {
    step_ = Step::asked;
    kill_at_ = turn.now() + grace;
  }
  if (first) seat.launch.stop(turn.out());
  turn.hand_down_all(end);
  return first ? Order::first : Order::again;
}

bool Shutdown::advance(Turn& turn) {
  HostProcesses* processes = turn.seat().processes;
  if (step_ == Step::asked && turn.now() >= kill_at_) {
    step_ = Step::killed;
    kill_at_ = kNever;
    if (processes != nullptr) processes->signal(signals::kKill, turn.out());
  }
  const bool is_waiting = step_ == Step::asked || step_ == Step::killed;
  if (!is_waiting || (processes != nullptr && processes->alive() > 0)) return false;
  kill_at_ = kNever;
  step_ = processes != nullptr ? Step::sweeping : Step::clean;
  return step_ == Step::sweeping;
}

void Shutdown::cleaned(Turn& turn) {
  if (step_ != Step::sweeping) return;
  step_ = Step::clean;
  confirm({turn.seat().self.index}, turn);
}

bool Shutdown::wants_output() const {
  return !kills_ && !(end_ && end_->signal == signals::kBrokenPipe);
}

bool Shutdown::waits_for_output(bool moved, bool empty, Turn& turn) {
  if (!wants_output() || turn.way_up() != WayUp::open) return false;
  const bool is_held = end_->mode == wire::EndMode::finish && !empty;
  if (moved || is_held) give_up_at_ = std::max(give_up_at_, turn.now() + child_slack(turn.seat()));
  return !empty;
}

bool Shutdown::is_due(bool waits_for_output, Turn& turn) {
  const auto& children = turn.seat().launch.children();
  const bool waits = waits_for_output || step_ != Step::clean ||
                     std::any_of(children.begin(), children.end(), [&](const auto& each) {
                       return each.second.open() && !(stays_ && each.second.stays());
                     });
  // What has come while we did not run ourselves is read first.
  if (turn.now() > give_up_at_ + kLate) give_up_at_ = turn.now() + kLate;
  return !waits || turn.now() >= give_up_at_;
}

void Shutdown::give_up_busy(Turn& turn) {
  const Seat seat = turn.seat();
  std::vector<LinkId> busy;
  for (const auto& [link, child] : seat.launch.children()) {
    if (child.serves() && !child.stays()) busy.push_back(link);
  }
  for (const LinkId link : busy) {
    may_outlive_us(seat.launch.children().at(link));
    turn.give_up(link, {Errc::timed_out, Phase::run, "its processes did not end in time", {}});
  }
  for (const auto& [link, child] : seat.launch.children()) {
    if (child.open() && !child.stays()) leave_unconfirmed(child.host.index);
  }
  if (seat.processes == nullptr || step_ == Step::clean) return;
  unconfirmed_.insert(seat.self.index);
  unbounded_.insert(seat.self.index);
}

void Shutdown::end(Over how) {
  over_ = how;
  give_up_at_ = kill_at_ = kNever;
}

void Shutdown::finish(Turn& turn) {
  const Seat seat = turn.seat();
  end(Over::finished);
  if (seat.processes != nullptr && step_ != Step::clean) leave_unconfirmed(seat.self.index);  // given up
  for (const auto& [link, child] : seat.launch.children()) {
    if (!child.open()) continue;
    leave_unconfirmed(child.host.index);
    if (child.state() == Child::State::logging_in) turn.act(CancelLogin{link});
    if (child.state() == Child::State::up) turn.act(CloseLink{link});
  }
  if (!seat.is_root() && turn.way_up() == WayUp::open)
    turn.act(Send{kParentLink, wire::Done{{unconfirmed_.begin(), unconfirmed_.end()}}});
}

void Shutdown::may_outlive_us(const Child& child) {
  unbounded_.insert(child.host.index);
  for (const auto& [index, host] : child.below) unbounded_.insert(index);
}

void Shutdown::confirm(std::vector<std::uint32_t> hosts, Turn& turn) {
  for (const std::uint32_t host : hosts) unconfirmed_.erase(host);
  if (is_idle()) turn.hand_up(wire::Confirmed{std::move(hosts)});
}

void Shutdown::tell_fenced(std::uint32_t host, Turn& turn) const {
  if (turn.seat().job.loss.recovery == wire::Recovery::in_place && !has_begun())
    turn.tell_up(wire::Fenced{host});
}

bool Shutdown::up(Child& child, const wire::Idle& idle) {
  if (!stays_) return false;
  leave_unconfirmed(idle.unconfirmed);
  unbounded_.insert(idle.unbounded.begin(), idle.unbounded.end());
  child.idle = true;
  return true;
}

wire::Idle Shutdown::idle() const {
  return {{unconfirmed_.begin(), unconfirmed_.end()}, {unbounded_.begin(), unbounded_.end()}};
}

}  // namespace charmtree::proto
