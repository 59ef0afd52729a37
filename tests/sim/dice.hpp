// SPDX-License-Identifier: Apache-2.0
// Distributions for the simulator, from the one seeded generator, and hashes: the same numbers with every
// standard library.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

#include "tree/base/random.hpp"

namespace charmtree::sim {

/// In (0, 1).
inline double uniform(Random& random) {
  return (static_cast<double>(random.next() >> 11) + 0.5) * 0x1p-53;
}

/// FNV-1a; going on from the hash of what came before.
constexpr std::uint64_t kNothingHashed = 0xCBF29CE484222325ULL, kHashPrime = 0x100000001B3ULL;
constexpr std::uint64_t hash_of(std::string_view text, std::uint64_t before = kNothingHashed) {
  for (const char c : text) before = (before ^ static_cast<unsigned char>(c)) * kHashPrime;
  return before;
}
constexpr std::uint64_t hash_of(std::uint64_t value, std::uint64_t before) {
  return (before ^ value) * kHashPrime;
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
