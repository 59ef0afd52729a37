// SPDX-License-Identifier: Apache-2.0
// A piece either is written or waits behind all others that wait; whenever the cursor becomes free, those who
// wait are tried again before anything else. So pieces of one process stay in order.
#include "charmrun/view/screen.hpp"

#include "tree/base/visible.hpp"

namespace charmtree {

using proto::Stream;
using wire::Tail;

void Screen::put(ScreenPiece piece, Instant now, Ink& ink) {
  if (kind_ == ScreenKind::own) piece.stream = Stream::out;  // both end there, as they come
  place({std::move(piece), now}, now, ink);
}

bool Screen::may_wait(const ScreenPiece& piece) const {
  return kind_ == ScreenKind::terminal && owner_->first != piece.process &&
         held_ + piece.text.size() <= kMostHeld && waiting_.size() < kMostPieces;
}

void Screen::place(Waiting waiting, Instant now, Ink& ink) {
  ScreenPiece& piece = waiting.piece;
  while (owner_ && *owner_ != source_of(piece)) {
    if (may_wait(piece)) {
      held_ += piece.text.size();
      waiting_.push_back(std::move(waiting));
      return;
    }
    break_off(ink);
    release(now, ink);
  }
  write(piece, ink);
  if (!owner_) release(now, ink);
}

void Screen::release(Instant now, Ink& ink) {
  if (waiting_.empty()) return;
  held_ = 0;
  for (Waiting& each : std::exchange(waiting_, {})) place(std::move(each), now, ink);
}

void Screen::write(ScreenPiece& piece, Ink& ink) {
  const bool was_open = owner_.has_value();
  const bool open = piece.text.empty() ? was_open : piece.text.back() != '\n';
  if (newline_due_ && !piece.text.empty()) {
    ink.bytes += '\n';
    newline_due_ = false;
  }
  if (!was_open && piece.label.empty() && broken_off_.empty()) {
    if (ink.bytes.empty())
      ink.bytes = std::move(piece.text);
    else
      ink.bytes += piece.text;
  } else {
    write_lines(piece, ink);
  }
  owner_.reset();
  if (open) {
    owner_ = source_of(piece);
    leave_open(piece.tail, ink);
  }
  if (piece.tail == Tail::ended) broken_off_.erase(source_of(piece));
  if (piece.wants_receipt) ink.receipts.push_back(piece.process);
}

void Screen::write_lines(const ScreenPiece& piece, Ink& ink) {
  std::string_view text = piece.text;
  bool begins = !owner_;
  const bool may_leave = !piece.label.empty() && !is_plain(text);
  ink.bytes.reserve(ink.bytes.size() + text.size() + text.size() / 4 + piece.label.size());
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    const std::size_t size = newline == std::string_view::npos ? text.size() : newline + 1;
    if (begins) {
      ink.bytes += piece.label;
      if (!broken_off_.empty() && broken_off_.erase(source_of(piece)) > 0) ink.bytes += kMark;
    }
    const std::string_view line = text.substr(0, size);
    if (may_leave && leaves_line(line))
      ink.bytes += kept_in_line(line, piece.label);
    else
      ink.bytes.append(line);
    text.remove_prefix(size);
    begins = true;
  }
}

/// The owner's line has no newline yet.
void Screen::leave_open(Tail tail, Ink& ink) {
  if (kind_ == ScreenKind::own) return;
  switch (tail) {
    case Tail::ended:
      owner_.reset();
      newline_due_ = true;
      return;
    case Tail::too_long:
      return break_off(ink);
    case Tail::waited:
      if (kind_ == ScreenKind::file) break_off(ink);
      return;
    case Tail::prompt:
      return;
  }
}

void Screen::break_off(Ink& ink) {
  broken_off_.insert(*owner_);
  owner_.reset();
  ink.bytes += kMark;
  ink.bytes += '\n';
}

void Screen::say(std::string_view lines, Instant now, Ink& ink) {
  if (owner_) break_off(ink);
  if (std::exchange(newline_due_, false)) ink.bytes += '\n';
  ink.bytes += lines;
  release(now, ink);
}

void Screen::tick(Instant now, Ink& ink) {
  while (next_deadline() <= now) {
    break_off(ink);
    release(now, ink);
  }
}

Instant Screen::next_deadline() const {
  return waiting_.empty() || !owner_ ? kNever : waiting_.front().since + kPatience;
}

void Screen::finish(Instant now, Ink& ink) {
  while (!waiting_.empty()) {
    break_off(ink);
    release(now, ink);
  }
}

}  // namespace charmtree
