// SPDX-License-Identifier: Apache-2.0
// Distributions for the simulator, from the one seeded generator: the same numbers with every standard
// library.
#pragma once

#include <cmath>
#include <numbers>

#include "tree/base/random.hpp"

namespace charmtree::sim {

/// In (0, 1).
inline double uniform(Random& random) {
  return (static_cast<double>(random.next() >> 11) + 0.5) * 0x1p-53;
}

/// Mean 1.
inline double exponential(Random& random) {
  return -std::log(uniform(random));
}

/// Median 1. Box, Muller: A note on the generation of random normal deviates (1958).
inline double lognormal(Random& random, double sigma) {
  const double radius = std::sqrt(2 * exponential(random));
  return std::exp(sigma * radius * std::cos(2 * std::numbers::pi * uniform(random)));
}

inline Duration scaled(Duration duration, double factor) {
  return Duration{static_cast<Duration::rep>(static_cast<double>(duration.count()) * factor)};
}

}  // namespace charmtree::sim
