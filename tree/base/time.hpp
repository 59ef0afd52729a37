// SPDX-License-Identifier: Apache-2.0
// Time as the pure core sees it: a number that is handed in. Nothing here can read a clock, so code that
// includes only this header cannot either (see tree/io/clock.hpp for the one place that does).
#pragma once

#include <chrono>
#include <cstdint>

namespace charmtree {

using Duration = std::chrono::nanoseconds;

/// The clock of one launcher: monotonic nanoseconds since an origin that means nothing outside that process.
/// It has no now() on purpose. Instants of two launchers are never compared without the offset of their hello
/// exchange.
struct LauncherClock {
  using rep = Duration::rep;
  using period = Duration::period;
  using duration = Duration;
  using time_point = std::chrono::time_point<LauncherClock>;
  static constexpr bool is_steady = true;
};

using Instant = LauncherClock::time_point;

/// "No deadline".
inline constexpr Instant kNever = Instant::max();

using namespace std::chrono_literals;

inline Instant earlier(Instant a, Instant b) {
  return a < b ? a : b;
}

/// Seconds as a double, for people and reports only.
inline double seconds(Duration d) {
  return std::chrono::duration<double>(d).count();
}

}  // namespace charmtree
