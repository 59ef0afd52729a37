// SPDX-License-Identifier: Apache-2.0
// What the user's signals mean. Before the processes run, those that end a program end the launch.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "charmrun/node/root_desk.hpp"
#include "tree/base/signals.hpp"

namespace charmtree {

using namespace proto;

void RootDesk::signal(int signal, Instant now, Actions& out, DeskOrders& orders) {
  switch (signal) {
    case signals::kInterrupt:
      return interrupt(now, out, orders);
    case signals::kQuit:
      return say_status(out);
    case signals::kUser1:
    case signals::kUser2:
      if (judge_.all_up()) return forward(signal, orders);
      out.push_back(
          Say{Tone::info, fmt::format("{}: not forwarded, the processes do not run yet", strsignal(signal))});
      return;
    case signals::kTerminalStop:
    case signals::kContinue:
      wants_suspension_ = signal == signals::kTerminalStop;
      return;
    default:
      cancel_restart();
      return judge_.interrupted(signal);
  }
}

/// Programs that may survive it get it as often as it comes, but twice within kMoment means us.
void RootDesk::interrupt(Instant now, Actions& out, DeskOrders& orders) {
  if (cancel_restart() || judge_.verdict() || !judge_.all_up())
    return judge_.interrupted(signals::kInterrupt);
  const bool again = interrupted_at_ != kNever && now - interrupted_at_ <= kMoment;
  interrupted_at_ = now;
  if (!again) say_status(out);
  if (!again && !int_ends_) return forward(signals::kInterrupt, orders);
  judge_.interrupted(signals::kInterrupt);
  if (again) judge_.interrupted(signals::kInterrupt);  // at once
}

void RootDesk::forward(int signal, DeskOrders& orders) {
  orders.everyone.push_back(wire::ForwardSignal{static_cast<std::uint8_t>(signal)});
}

void RootDesk::say_status(Actions& out) const {
  const JobStatus status = judge_.status();
  out.push_back(Say{Tone::info, summary(status)});
  if (status.stage == Stage::launch) return;
  const std::vector<std::string> rows = placement_lines(hosts_, judge_.moved());
  for (std::size_t i = 0; i < std::min(rows.size(), kMostRows); ++i)
    out.push_back(Say{Tone::info, "  " + rows[i]});
  if (rows.size() > kMostRows)
    out.push_back(Say{
        Tone::info, fmt::format("  and {} more such rows; see charmrun ++status", rows.size() - kMostRows)});
}

/// Logins that are under way would run into their limits, so a launch is finished first; a checkup has only
/// such. What ends the job now has lifted the suspension.
void RootDesk::suspend(DeskOrders& orders) {
  if (orders.end) wants_suspension_ = suspended_ = false;
  const bool can = job_->checkup || judge_.all_up() || judge_.verdict();
  const bool on = wants_suspension_ && can;
  if (on != suspended_) orders.suspend = on;
  suspended_ = on;
  was_suspended_ = was_suspended_ || on;
}

}  // namespace charmtree
