// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/login_retries.hpp"

#include <algorithm>

#include "tree/overlay/machine_gate.hpp"

namespace charmtree::proto {

namespace {

constexpr std::uint32_t kMostDoublings = 3;  // of the pause between two tries without a fixed number of them

bool was_turned_away(Errc code) {
  return code == Errc::busy || code == Errc::penalised;
}

/// The host has not answered at all.
bool is_not_reached(Errc code) {
  return code == Errc::no_such_host || code == Errc::timed_out || code == Errc::unreachable;
}

/// Failures that a host may get over in its first minutes.
bool may_come_up(Errc code) {
  return is_not_reached(code) || code == Errc::refused;
}

}  // namespace

LoginRetries::LoginRetries(const wire::JobSpec& job, const LaunchConfig& config, Random& random)
    : job_(job),
      most_(job.checkup ? 0 : config.retries),  // the user wants to know now
      first_pause_(config.first_pause),
      is_root_(config.is_root),
      random_(random) {}

std::optional<Instant> LoginRetries::next(Child& child, Errc code, Instant now) {
  const bool turned_away = was_turned_away(code);
  const Duration wait = child.visits() ? child.insistence : job_.launch.wait;
  const bool may_change = child.visits() ? is_not_reached(code) : may_come_up(code);
  const bool coming_up =
      may_change && now - child.first_tried < wait && (is_root_ || code != Errc::no_such_host);
  const bool a_few_times = !child.visits() && is_transient(code) && child.retries < most_;
  if (!turned_away && !coming_up && !a_few_times) return {};
  std::uint32_t& times = turned_away ? child.turned_away : child.retries;
  const Duration pause = first_pause_ * (1 << std::min(times, kMostDoublings));
  const Duration penalty = code == Errc::penalised ? MachineGate::kPenalty : Duration{0};
  const Instant retry_at = now + penalty + random_.between(pause / 2, pause + pause / 2);
  if (retry_at - child.first_tried >= (coming_up ? wait : job_.timeout)) return {};
  ++times;
  return retry_at;
}

}  // namespace charmtree::proto
