// SPDX-License-Identifier: Apache-2.0
// One place where lines of many processes are written, and its cursor: a terminal, a pipe or file, or the
// file of one process. No line is torn by another one. A line whose newline has not come
//  - owns the cursor of a terminal: others wait, but not for long; then it is broken off;
//  - in a pipe or file waits for its newline, as far as there is memory; with a label it is broken off at
//  once. A
//    prompt is written at once, and stays until others write;
//  - in the file of one process is as it is.
// What stands behind a label cannot leave its line. A line that is broken off ends with a mark and a newline,
// and its rest begins with a mark, unless it ends with a carriage return. Pure: what is to be written is
// handed out.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tree/base/time.hpp"
#include "tree/clients/client_server.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree {

enum class ScreenKind : std::uint8_t { terminal, file, own };

/// Bytes to be written, and the processes that wait until they have been.
struct Ink {
  std::string bytes;
  std::vector<std::uint32_t> receipts;
};

/// Output of one process; see wire::Output. Each of its lines gets the label.
struct ScreenPiece {
  std::uint32_t process = 0;
  proto::Stream stream = proto::Stream::out;
  std::string text;
  wire::Tail tail = wire::Tail::waited;
  bool wants_receipt = false;
  std::string label = {};
};

class Screen {
public:
  /// How long others wait for the end of a line, and how much of theirs is kept meanwhile.
  static constexpr Duration kPatience = 2s;
  static constexpr std::size_t kMostHeld = 1U << 20, kMostPieces = 1024;
  static constexpr char kMark = '\\';
  /// Bytes of begun lines that wait for their newlines in a pipe or file, all processes together. When there
  /// are more, the longest line is broken off.
  static constexpr std::size_t kMaxBegun = 12U << 20;

  explicit Screen(ScreenKind kind) : kind_(kind) {}

  void put(ScreenPiece piece, Instant now, Ink& ink);
  /// Lines of our own, which wait for nobody.
  void say(std::string_view lines, Instant now, Ink& ink);
  void tick(Instant now, Ink& ink);
  Instant next_deadline() const;
  /// No line waits for its end.
  bool at_line_start() const { return !owner_ && !newline_due_; }
  /// All that waits is written.
  void finish(Instant now, Ink& ink);

private:
  using Source = std::pair<std::uint32_t, proto::Stream>;
  struct Waiting {
    ScreenPiece piece;
    Instant since;
  };

  static Source source_of(const ScreenPiece& piece) { return {piece.process, piece.stream}; }
  bool completes(ScreenPiece& piece);
  void limit_begun(Instant now, Ink& ink);
  bool may_wait(const ScreenPiece& piece) const;
  void place(Waiting waiting, Instant now, Ink& ink);
  void release(Instant now, Ink& ink);
  void write(ScreenPiece& piece, Ink& ink);
  void write_lines(const ScreenPiece& piece, Ink& ink);
  void leave_open(wire::Tail tail, Ink& ink);
  void break_off(Ink& ink);

  ScreenKind kind_;
  std::optional<Source> owner_;  // whose line is not complete
  bool newline_due_ = false;     // the last line was the end of its stream
  std::set<Source> broken_off_;
  std::map<Source, std::string> begun_;  // lines without their newlines; none is empty
  std::size_t begun_size_ = 0;           // bytes of theirs
  char last_ = '\n';                     // byte that was written
  std::deque<Waiting> waiting_;
  std::size_t held_ = 0;  // bytes of theirs
};

}  // namespace charmtree
