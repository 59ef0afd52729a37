// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/silence_fit.hpp"

#include <fmt/format.h>

namespace charmtree::silence {

void ExponentialFit::add(double x, std::uint64_t count) {
  if (count == 0) return;
  const auto n = static_cast<double>(count);
  points_.push_back({x, std::log(n), 1 / (1 / n + kModel * kModel)});
}

bool ExponentialFit::make() {
  if (points_.size() < 2) return false;
  double sum = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const Point& point : points_) {
    sum += point.weight;
    x += point.weight * point.x;
    y += point.weight * point.y;
  }
  x /= sum;
  y /= sum;
  for (const Point& point : points_) {
    xx += point.weight * (point.x - x) * (point.x - x);
    xy += point.weight * (point.x - x) * (point.y - y);
  }
  weight_ = sum;
  mean_ = x;
  spread_ = xx;
  slope_ = xy / xx;
  intercept_ = y - slope_ * x;
  misfit_ = 0;
  for (const Point& point : points_) {
    const double error = point.y - intercept_ - slope_ * point.x;
    misfit_ += point.weight * error * error;
  }
  return true;
}

std::string ExponentialFit::text(const std::string& variable) const {
  const auto freedom = static_cast<double>(points_.size()) - 2;
  return fmt::format("ln n = {:.2f} {:+.2f} {}; {} points{}", intercept_, slope_, variable, points_.size(),
                     freedom > 0 ? fmt::format(", chi2/df {:.2f}", misfit_ / freedom) : "");
}

}  // namespace charmtree::silence
