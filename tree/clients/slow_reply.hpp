// SPDX-License-Identifier: Apache-2.0
// The reply to a Charm++ client that waits for it: sent whole if it comes soon, else begun before it is
// known, a byte at a time, because the client gives up after 600 s without one. The header goes first, with a
// length that has room; then blanks, if the reader of the text skips them, as far as the room goes. What the
// client does not look at behind the text's NUL is filled up with NULs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "tree/base/result.hpp"
#include "tree/base/time.hpp"

namespace charmtree::proto {

class SlowReply {
public:
  /// Between two bytes; a client's patience is 600 s, counted from the last one.
  static constexpr Duration kPause = 570s;
  /// Length of a reply that has been begun: the longest text that a scanf gets is half as long, and blanks go
  /// on for years.
  static constexpr std::size_t kRoom = 2U << 20;

  enum class Blanks : std::uint8_t {
    skipped,  // may stand before the text
    read,     // would be taken for a part of it: after the header there is nothing more to send
  };
  SlowReply(std::string type, Blanks blanks, Instant now)
      : type_(std::move(type)), blanks_(blanks), due_(now + kPause) {}

  /// When the next byte is due; kNever: no byte is left that can be sent without the text.
  Instant due() const { return due_; }
  /// The next byte. Precondition: now >= due().
  std::string next(Instant now);
  /// All that is left, with this text (which has no NUL inside). Error bad_input: the reply has been begun
  /// and has no room for it.
  Result<std::string> finish(std::string_view text) const;

private:
  std::string type_;
  Blanks blanks_;
  Instant due_;
  std::size_t sent_ = 0;
};

}  // namespace charmtree::proto
