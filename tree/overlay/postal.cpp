// SPDX-License-Identifier: Apache-2.0
// On a lattice, where both constants are rounded down, so that bound() stays a bound.
#include "tree/overlay/postal.hpp"

#include <algorithm>

namespace charmtree::proto {

namespace {
constexpr int kTicksPerLogin = 24;
constexpr Duration kLeastOccupancy = 500us, kMostOccupancy = 1s, kLeastLatency = 5ms, kMostLatency = 10s;
}  // namespace

Duration tick_of(const Postal& postal) {
  return std::max(postal.occupancy / kTicksPerLogin, Duration{1us});
}

Postal believable(Duration occupancy, Duration latency) {
  Postal postal;
  if (occupancy > Duration{0}) postal.occupancy = std::clamp(occupancy, kLeastOccupancy, kMostOccupancy);
  if (latency > Duration{0}) postal.latency = std::clamp(latency, kLeastLatency, kMostLatency);
  return postal;
}

PostalCurve::PostalCurve(const Postal& postal)
    : tick_(tick_of(postal)),
      busy_(static_cast<std::size_t>(std::max<std::int64_t>(postal.occupancy / tick_, 1))),
      late_(std::max(static_cast<std::size_t>(postal.latency / tick_), busy_)) {}

void PostalCurve::grow() {
  const std::size_t at = alive_.size();
  alive_.push_back(at < late_ ? 1 : alive_[at - busy_] + alive_[at - late_]);
}

Duration PostalCurve::bound(std::uint64_t hosts) {
  while (alive_.empty() || alive_.back() <= hosts) grow();
  const auto first = std::upper_bound(alive_.begin(), alive_.end(), hosts);
  return (first - alive_.begin()) * tick_;
}

/// A login begun by then is a launcher `latency` later.
double PostalCurve::begun(std::int64_t ticks) {
  if (ticks < 0) return 0;
  const std::size_t at = static_cast<std::size_t>(ticks) + late_;
  while (alive_.size() <= at) grow();
  return static_cast<double>(alive_[at] - 1);
}

std::size_t PostalCurve::share(std::size_t hosts, const std::vector<Duration>& later) {
  std::vector<std::int64_t> ready;
  ready.reserve(later.size());
  for (const Duration each : later) ready.push_back(std::max<std::int64_t>(each / tick_, 0));
  const auto enough = [&](std::int64_t horizon) {
    double total = 2 * begun(horizon);
    for (const std::int64_t each : ready) {
      if (total >= static_cast<double>(hosts)) return true;
      total += begun(horizon - each);
    }
    return total >= static_cast<double>(hosts);
  };
  std::int64_t high = 1;
  while (!enough(high)) high *= 2;
  std::int64_t low = high / 2;  // not enough, or 0
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    (enough(middle) ? high : low) = middle;
  }
  return std::min(static_cast<std::size_t>(begun(high)), hosts / 2);
}

}  // namespace charmtree::proto
