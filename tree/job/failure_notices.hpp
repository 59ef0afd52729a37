// SPDX-License-Identifier: Apache-2.0
// Reports plain processes that fail while the others continue: what happened, on which host, and which option
// would end the job. Failures that come together share a line. A job that ends meanwhile reports them by its
// verdict.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tree/base/time.hpp"
#include "tree/job/process_places.hpp"
#include "tree/turn/process_ends.hpp"

namespace charmtree::proto {

class FailureNotices {
public:
  /// The time from a failure to its line, in which others join it.
  static constexpr Duration kTogether = 200ms;
  /// The least time between two lines, and how many there are at most: a job may lose thousands of processes.
  static constexpr Duration kPause = 5s;
  static constexpr std::size_t kMaxLines = 100;

  /// `places` must outlive the object.
  explicit FailureNotices(const ProcessPlaces& places) : places_(places) {}

  /// Records a failure. `line` reports it if no other joins it.
  void add(const wire::ProcessExit& exit, std::string line, Instant now);
  /// Returns the line that is due, if any. `others` processes of the job continue.
  std::optional<std::string> take(std::uint32_t others, Instant now);
  Instant next_deadline() const { return due_; }

private:
  const ProcessPlaces& places_;
  ProcessEnds ends_;         // of the next line
  wire::ProcessSet failed_;  // those processes
  std::string single_;       // the line of the first of them
  std::size_t lines_ = 0;    // so far
  Instant due_ = kNever, not_before_ = Instant::min();
};

}  // namespace charmtree::proto
