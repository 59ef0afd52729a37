// SPDX-License-Identifier: Apache-2.0
// The first bytes of a launcher: one line that says "here speaks charmtree" after whatever an rc file or
// banner printed before it (DESIGN D3). Nothing is sent to a launcher before its greeting has come. A shell
// in the place of a launcher that is not installed says before it, by lines of the same kind, what it needs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tree/base/result.hpp"
#include "tree/wire/frame.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::wire {

/// What launchers of one job have in common, whatever their versions.
std::string_view protocol();

/// The line that a launcher writes first.
std::string make_greeting();

enum class StageWord : std::uint8_t {
  ask,   // what to run
  send,  // the launcher itself; followed by the kind of its machine, as `uname -m` says it
};
/// The line that says it, without what follows and the newline.
std::string_view stage_line(StageWord word);

struct StageRequest {
  StageWord word;
  std::string machine;
};

/// Chatter before the greeting that is skipped; more is an error.
inline constexpr std::size_t kMaxChatter = 64U << 10;

/// One direction of a link: cuts the stream that comes in into messages. From a child the greeting is awaited
/// first.
class LinkReader {
public:
  enum class From : bool { child, parent };
  /// `types`: the messages that a launcher knows; must outlive the object.
  LinkReader(From from, const MessageTypes& types)
      : from_(from), types_(types), greeted_(from == From::parent), frames_(kMaxLinkFrame) {}

  /// Appends bytes. Error: too much chatter, or a greeting of another version.
  Result<void> append(std::string_view bytes);
  /// True once the greeting has been seen.
  bool greeted() const { return greeted_; }
  /// A request that has come and was not taken, while the greeting is awaited. None is taken for chatter.
  std::optional<StageRequest> take_stage_request() { return std::exchange(stage_request_, {}); }
  /// What came before the greeting (for ++verbose and errors).
  const std::string& chatter() const { return chatter_; }
  /// The next message, nothing if more bytes are needed. Error (for ever): not a message, or not one for this
  /// direction, or more than one of its type can say whose sender may speak for so many.
  Result<std::optional<Message>> next(const Remit& remit = {});

private:
  void find_stage_request(std::size_t look_from);

  From from_;
  const MessageTypes& types_;
  bool greeted_;
  std::string chatter_;  // before greeted_: everything so far
  std::optional<StageRequest> stage_request_;
  FrameDecoder frames_;
};

}  // namespace charmtree::wire
