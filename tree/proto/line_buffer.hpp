// SPDX-License-Identifier: Apache-2.0
// Cuts one stream of one process into whole lines, so that lines of different processes are never torn into
// each other. A line without its newline waits until a deadline, a size or the end of the stream.
#pragma once

#include <string>
#include <string_view>

#include "tree/base/time.hpp"

namespace charmtree::proto {

class LineBuffer {
public:
  /// A longer line is passed on in pieces.
  static constexpr std::size_t kMaxLine = 64U << 10;

  /// What can be passed on now: everything up to the last newline, or more if a line is too long. `raw`:
  /// everything.
  std::string append(std::string_view bytes, Instant now, Duration hold, bool raw);
  /// The partial line, if its time has come.
  std::string expired(Instant now);
  /// Whatever is left.
  std::string flush();
  /// When expired() will have something.
  Instant deadline() const { return partial_.empty() ? kNever : deadline_; }

private:
  std::string partial_;
  Instant deadline_ = kNever;
};

}  // namespace charmtree::proto
