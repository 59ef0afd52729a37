// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/login_pace.hpp"

#include <algorithm>
#include <utility>

namespace charmtree::proto {

namespace {

// Between two logins with late binding, at least.
constexpr Duration kPause = 500us;
constexpr double kRateUnit = 1e6;  // seconds, of wire::LaunchRules::login_rate

}  // namespace

LoginPace::LoginPace(const wire::JobSpec& job, const LaunchConfig& config)
    : job_(job),
      is_root_(config.is_root),
      is_late_(job.launch.shape.branching == 0),
      rate_(config.is_root ? job.launch.login_rate : 0) {}

Instant LoginPace::retry_at(Instant due) const {
  return is_limited() && due != kNever ? std::max(due, next_) : due;
}

void LoginPace::resume(Instant now) {
  next_ = std::max(next_, now);
}

/// A part of the limit is no login at once: many parts would be many.
void LoginPace::receive(std::uint64_t rate, Instant now) {
  rate_ += std::min(rate, job_.launch.login_rate);
  resume(is_limited() && !is_root_ ? now + pace() : now);
}

std::uint64_t LoginPace::give(std::size_t given, std::size_t left) {
  const std::size_t all = given + left + 1;
  const std::uint64_t rate = std::min(rate_, rate_ / all * given + 1);
  rate_ -= rate;
  return rate;
}

std::uint64_t LoginPace::give_all() {
  return std::exchange(rate_, 0);
}

/// Never longer than all logins take together, even if hardly any rate is left to us.
Duration LoginPace::pace() const {
  const Duration pause = is_late_ ? kPause : Duration{0};
  if (!is_limited()) return pause;
  const std::uint64_t least = job_.launch.login_rate / std::max(job_.hosts, 1U);
  const auto rate = static_cast<double>(std::max({rate_, least, std::uint64_t{1}}));
  return std::max(pause,
                  std::chrono::duration_cast<Duration>(std::chrono::duration<double>(kRateUnit / rate)));
}

}  // namespace charmtree::proto
