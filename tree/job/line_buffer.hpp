// SPDX-License-Identifier: Apache-2.0
// Cuts one stream of one process into whole lines, so that lines of different processes are never torn into
// each other. A line without its newline waits until a deadline, a size or the end of the stream. A line is
// cut between characters of UTF-8.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tree/base/time.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::proto {

class LineBuffer {
public:
  /// A longer line is passed on in pieces of this size.
  static constexpr std::size_t kMaxLine = 64U << 10;

  struct Piece {
    std::string text;
    wire::Tail tail = wire::Tail::waited;
  };

  /// Appends to `ready` what can be passed on now: everything up to the last newline, and whole pieces of a
  /// line that is too long.
  void append(std::string_view bytes, Instant now, Duration hold, std::vector<Piece>& ready);
  /// The partial line, if its time has come.
  std::string expired(Instant now);
  /// Whatever is left.
  std::string flush();
  /// A part of a line has been passed on, and its newline has not come yet.
  bool is_open() const { return open_; }
  /// When expired() will have something.
  Instant deadline() const { return partial_.empty() ? kNever : deadline_; }

private:
  void append_long(std::string_view bytes, std::vector<Piece>& ready);
  void keep_begun_character(std::string& text);

  std::string partial_;
  Instant deadline_ = kNever;
  bool open_ = false;
};

}  // namespace charmtree::proto
