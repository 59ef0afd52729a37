// SPDX-License-Identifier: Apache-2.0
// The only source of chance in the core: a seeded generator (SplitMix64) with our own range mapping, so that
// a seed gives the same run with every standard library.
#pragma once

#include <cstdint>

#include "tree/base/time.hpp"

namespace charmtree {

class Random {
public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  /// 64 uniform bits. Source: Steele, Lea, Flood: Fast splittable pseudorandom number generators (2014).
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

  /// Uniform in [0, bound); 0 if bound is 0.
  std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * bound) >> 64);
  }

  /// Uniform in [low, high).
  Duration between(Duration low, Duration high) {
    return low +
           Duration{static_cast<Duration::rep>(below(static_cast<std::uint64_t>((high - low).count())))};
  }

private:
  __extension__ typedef unsigned __int128 Wide;  // not ISO C++, but in every compiler that we build with
  std::uint64_t state_;
};

}  // namespace charmtree
