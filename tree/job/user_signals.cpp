// SPDX-License-Identifier: Apache-2.0
#include "tree/job/user_signals.hpp"

#include "tree/base/signals.hpp"

namespace charmtree::proto {

void UserSignals::take_over(const UserSignals& before) {
  wants_suspension_ = before.wants_suspension_;
  suspended_ = before.suspended_;
}

bool UserSignals::ends(int signal) {
  switch (signal) {
    case signals::kQuit:
    case signals::kUser1:
    case signals::kUser2:
    case signals::kTerminalStop:
    case signals::kContinue:
      return false;
    default:
      return true;
  }
}

UserSignals::Meaning UserSignals::on(int signal, Stage stage, Instant now) {
  switch (signal) {
    case signals::kInterrupt:
      return interrupt(stage, now);
    case signals::kQuit:
      return {.shows_status = true, .shows_stacks = stage == Stage::runs};
    case signals::kUser1:
    case signals::kUser2:
      return {.forward = stage != Stage::starts, .too_early = stage == Stage::starts};
    case signals::kTerminalStop:
    case signals::kContinue:
      wants_suspension_ = signal == signals::kTerminalStop;
      return {};
    default:
      return {.interrupts = 1};
  }
}

/// Programs that may survive it get it as often as it comes, but twice within kMoment means us.
UserSignals::Meaning UserSignals::interrupt(Stage stage, Instant now) {
  if (stage != Stage::runs) return {.interrupts = 1};
  const bool again = interrupted_at_ != kNever && now - interrupted_at_ <= kMoment;
  interrupted_at_ = now;
  if (again) return {.interrupts = 2};  // at once
  return {.shows_status = true, .forward = !int_ends_, .interrupts = int_ends_ ? 1U : 0U};
}

std::optional<bool> UserSignals::turn(bool is_ended, bool can) {
  if (is_ended) wants_suspension_ = suspended_ = false;
  const bool on = wants_suspension_ && can;
  if (on == suspended_) return std::nullopt;
  suspended_ = on;
  return on;
}

}  // namespace charmtree::proto
