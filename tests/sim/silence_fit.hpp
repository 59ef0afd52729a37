// SPDX-License-Identifier: Apache-2.0
// Counts that fall exponentially, and what they let expect further on.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace charmtree::silence {

/// ln n = intercept + slope x, by least squares. A count's logarithm is off by 1/sqrt(n), and by kModel,
/// since no process is quite exponential.
class ExponentialFit {
public:
  void add(double x, std::uint64_t count);
  /// Without two counts there is none.
  bool make();

  /// Expected count at x, or one that is too high with so many standard errors.
  double at(double x, double errors = 0) const {
    return std::exp(intercept_ + slope_ * x +
                    errors * std::sqrt(1 / weight_ + (x - mean_) * (x - mean_) / spread_));
  }
  double slope() const { return slope_; }
  /// "ln n = 1.2 - 3.4 k; 5 points, chi2/df 0.9".
  std::string text(const std::string& variable) const;

private:
  struct Point {
    double x, y, weight;
  };
  static constexpr double kModel = 0.05;
  std::vector<Point> points_;
  double intercept_ = 0, slope_ = 0, misfit_ = 0;
  double weight_ = 1, mean_ = 0, spread_ = 1;  // of the points' x
};

}  // namespace charmtree::silence
