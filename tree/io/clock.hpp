// SPDX-License-Identifier: Apache-2.0
// The one place that reads the clock.
#pragma once

#include <chrono>

#include "tree/base/time.hpp"

namespace charmtree::io {

inline Instant now() {
  return Instant{std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())};
}

/// Milliseconds since 1970 by the wall clock, which only tells people something: that it is wrong,
/// or when an allocation ends.
inline std::int64_t wall_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

/// What wall_ms() would have been at Instant{}.
inline std::int64_t wall_ms_at_zero() {
  return wall_ms() - std::chrono::duration_cast<std::chrono::milliseconds>(now().time_since_epoch()).count();
}

/// The point of the steady clock that Asio timers wait for.
inline std::chrono::steady_clock::time_point to_steady(Instant instant) {
  return std::chrono::steady_clock::time_point{instant.time_since_epoch()};
}

}  // namespace charmtree::io
