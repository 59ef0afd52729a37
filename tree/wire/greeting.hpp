// SPDX-License-Identifier: Apache-2.0
// The first bytes of a launcher: one line that says "here speaks charmtree" after whatever an rc file or
// banner printed before it (DESIGN D3). Nothing is sent to a launcher before its greeting has come.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tree/base/result.hpp"
#include "tree/wire/frame.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::wire {

/// The line that a launcher writes first.
std::string make_greeting();

/// Chatter before the greeting that is skipped; more is an error.
inline constexpr std::size_t kMaxChatter = 64U << 10;

/// One direction of a link: cuts the stream that comes in into messages. From a child the greeting is awaited
/// first.
class LinkReader {
public:
  enum class From : bool { child, parent };
  explicit LinkReader(From from) : from_(from), greeted_(from == From::parent), frames_(kMaxLinkFrame) {}

  /// Appends bytes. Error: too much chatter, or a greeting of another version.
  Result<void> append(std::string_view bytes);
  /// True once the greeting has been seen.
  bool greeted() const { return greeted_; }
  /// What came before the greeting (for ++verbose and errors).
  const std::string& chatter() const { return chatter_; }
  /// The next message, nothing if more bytes are needed. Error (for ever): not a message, or not one for this
  /// direction, or more than one of its type can say whose sender may speak for so many.
  Result<std::optional<Message>> next(const Remit& remit = {});

private:
  From from_;
  bool greeted_;
  std::string chatter_;  // before greeted_: everything so far
  FrameDecoder frames_;
};

}  // namespace charmtree::wire
