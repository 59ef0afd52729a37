// SPDX-License-Identifier: Apache-2.0
// Adds the time that it is there to what something has taken.
#pragma once

#include <chrono>

namespace charmtree::ibverbs {

class Stopwatch {
public:
  explicit Stopwatch(double& seconds) : seconds_(seconds) {}
  ~Stopwatch() { seconds_ += std::chrono::duration<double>(Clock::now() - begun_).count(); }
  Stopwatch(const Stopwatch&) = delete;

private:
  using Clock = std::chrono::steady_clock;
  double& seconds_;
  Clock::time_point begun_ = Clock::now();
};

}  // namespace charmtree::ibverbs
