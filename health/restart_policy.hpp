// SPDX-License-Identifier: Apache-2.0
// Whether a program that has failed is started once more, and when: as often as the user allows, and not at
// all once it fails again and again soon after its start.
#pragma once

#include <cstdint>
#include <string>

#include "tree/base/time.hpp"

namespace charmtree::health {

class RestartPolicy {
public:
  /// A run that has lasted for so long is no failed start.
  static constexpr Duration kSettled = 10s;
  /// So many failed starts in a row are enough.
  static constexpr std::uint32_t kMostInARow = 5;
  /// Before the second start in a row; doubles with each.
  static constexpr Duration kFirstPause = 1s;

  /// `most`: restarts in all.
  explicit RestartPolicy(std::uint32_t most) : most_(most) {}

  struct Decision {
    bool again = false;
    Duration pause{0};      // before the next start
    std::string no_more{};  // why there is none, in words
  };
  /// The run that began at `begun` has failed.
  Decision failed(Instant begun, Instant now);

  /// So far.
  std::uint32_t restarts() const { return restarts_; }
  std::uint32_t most() const { return most_; }

private:
  std::uint32_t most_;
  std::uint32_t restarts_ = 0;
  std::uint32_t in_a_row_ = 0;
};

}  // namespace charmtree::health
