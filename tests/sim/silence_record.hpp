// SPDX-License-Identifier: Apache-2.0
// What was seen of silence in a run, in figures.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "health/detector.hpp"

namespace charmtree::silence {

inline constexpr std::size_t kCauses = 3;  // health::Symptom

/// Counts durations by bins of one width; the last takes all that are longer. Negative ones are in none.
class Histogram {
public:
  Histogram(Duration width, Duration most)
      : width_(width), counts_(static_cast<std::size_t>(most / width) + 1) {}

  void add(Duration duration) {
    if (duration < Duration{0}) {
      ++negative_;
    } else {
      ++counts_[std::min(static_cast<std::size_t>(duration / width_), counts_.size() - 1)];
    }
  }
  Duration width() const { return width_; }
  const std::vector<std::uint64_t>& counts() const { return counts_; }
  std::uint64_t negative() const { return negative_; }
  std::uint64_t total() const {
    std::uint64_t sum = negative_;
    for (const std::uint64_t count : counts_) sum += count;
    return sum;
  }
  /// From the beginning of a bin on.
  std::uint64_t at_least(Duration duration) const {
    std::uint64_t sum = 0;
    for (std::size_t bin = static_cast<std::size_t>(duration / width_); bin < counts_.size(); ++bin)
      sum += counts_[bin];
    return sum;
  }

private:
  Duration width_;
  std::vector<std::uint64_t> counts_;
  std::uint64_t negative_ = 0;
};

struct Record {
  static constexpr std::size_t kMostLosses = 12;

  // Silences that something ended which came. Of launchers that ran, by how many losses in a row explain
  // them; of those that did not, by length.
  std::array<std::uint64_t, kMostLosses> losses{};
  Histogram late{250ms, 60s};
  /// What was left until the verdict that was to be expected then, by its cause: silences of 0.5 s and more.
  std::array<Histogram, kCauses> margins{Histogram{50ms, 1s}, Histogram{500ms, 10s}, Histogram{2s, 32s}};
  // Of hosts that live: those suspected, those of them who could still be convicted as nothing had been
  // acknowledged, and how old the last acknowledgement was when a silence had reached `gone` and the port had
  // not answered.
  std::uint64_t suspected = 0, quiet = 0;
  Histogram at_verdict{12500us, 2s};
  std::uint64_t probes = 0, unanswered = 0;  // connections to their ports
  std::array<std::uint64_t, kCauses> false_verdicts{};

  std::vector<Duration> by_parent, by_child;  // from deaths to verdicts
  std::vector<Duration> frozen, half_open;    // likewise
  std::uint64_t mistaken = 0;                 // dead links whose host was taken for dead, too
  std::uint64_t messages = 0, asked = 0, refused = 0, starved = 0;
};

}  // namespace charmtree::silence
