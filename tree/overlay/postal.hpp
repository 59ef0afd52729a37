// SPDX-License-Identifier: Apache-2.0
// The postal model of a launch: a launcher is busy for `occupancy` with each login, and a host is a launcher
// itself `latency` after its login began. With those two, the most launchers that can live at a time t obey
// N(t) = N(t - occupancy) + N(t - latency), N(t < latency) = 1, and it is best that everybody is always busy.
// Source: Bar-Noy, Kipnis: Designing broadcasting algorithms in the postal model (1994).
#pragma once

#include <cstdint>
#include <vector>

#include "tree/base/time.hpp"

namespace charmtree::proto {

struct Postal {
  Duration occupancy = 2400us;  // libssh2, one core (docs/DESIGN.md, 4)
  Duration latency = 250ms;
};

/// Of the lattice on which its recurrences are computed: fine enough for any constants.
Duration tick_of(const Postal& postal);

/// What is known (0: not known) within the range of what can be, so that a curve stays small.
Postal believable(Duration occupancy, Duration latency);

/// N of one pair of constants, as a table that grows as it is asked.
class PostalCurve {
public:
  explicit PostalCurve(const Postal& postal);

  /// The shortest time in which a launcher can start `hosts` others, with their help: no launch is faster.
  Duration bound(std::uint64_t hosts);

  /// How many of `hosts` a launcher should be given that is ready now, like the one that gives them, if
  /// others become ready after `later`: as many as it can begin to start until the same moment as all of
  /// them.
  std::size_t share(std::size_t hosts, const std::vector<Duration>& later);

private:
  void grow();
  /// Logins that a launcher and those that it starts can begin within so many ticks.
  double begun(std::int64_t ticks);

  Duration tick_;
  std::size_t busy_, late_;           // occupancy and latency in ticks
  std::vector<std::uint64_t> alive_;  // N by tick
};

}  // namespace charmtree::proto
