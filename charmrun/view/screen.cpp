// SPDX-License-Identifier: Apache-2.0
// A piece either is written or waits behind all others that wait; whenever the cursor becomes free, those who
// wait are tried again before anything else. So pieces of one process stay in order.
#include "charmrun/view/screen.hpp"

#include <algorithm>

#include "tree/base/visible.hpp"

namespace charmtree {

using proto::Stream;
using wire::Tail;

void Screen::put(ScreenPiece piece, Instant now, Ink& ink) {
  if (kind_ == ScreenKind::own) piece.stream = Stream::out;  // both end there, as they come
  const bool waits = kind_ == ScreenKind::file && piece.label.empty() && !completes(piece);
  if (!waits) place({std::move(piece), now}, now, ink);
  limit_begun(now, ink);
}

/// Moves the begun line of the piece's process in front of the piece, and keeps what it begins. Returns false
/// if nothing is left to be written.
bool Screen::completes(ScreenPiece& piece) {
  const Source source = source_of(piece);
  if (owner_ == source) {  // behind its prompt
    if (piece.tail != Tail::ended) piece.tail = Tail::prompt;
    return true;
  }
  const bool must_show = piece.tail == Tail::prompt || piece.tail == Tail::ended;
  const std::size_t newline = must_show ? std::string::npos : piece.text.rfind('\n');
  const std::size_t ready = must_show ? piece.text.size() : newline + 1;  // npos + 1: none
  const std::string_view rest = std::string_view{piece.text}.substr(ready);
  const auto begun = begun_.find(source);
  if (begun == begun_.end() && rest.empty()) return true;
  std::string next{rest};
  piece.text.resize(ready);
  begun_size_ += next.size();
  if (begun == begun_.end()) {
    begun_.emplace(source, std::move(next));
  } else if (ready == 0 && !must_show) {
    begun->second += next;
  } else {
    begun_size_ -= begun->second.size();
    begun->second += piece.text;
    piece.text = std::exchange(begun->second, std::move(next));
    if (begun->second.empty()) begun_.erase(begun);
  }
  return ready > 0 || must_show || piece.wants_receipt;
}

void Screen::limit_begun(Instant now, Ink& ink) {
  while (begun_size_ > kMaxBegun) {
    const auto longest = std::max_element(begun_.begin(), begun_.end(), [](const auto& a, const auto& b) {
      return a.second.size() < b.second.size();
    });
    const auto [process, stream] = longest->first;
    begun_size_ -= longest->second.size();
    ScreenPiece piece{process, stream, std::move(longest->second), Tail::too_long};
    begun_.erase(longest);
    place({std::move(piece), now}, now, ink);
  }
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
  if (!piece.text.empty()) last_ = piece.text.back();
  const bool open = piece.text.empty() ? was_open : last_ != '\n';
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
  if (last_ != '\r') {
    broken_off_.insert(*owner_);
    ink.bytes += kMark;
  }
  owner_.reset();
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
  begun_size_ = 0;
  for (auto& [source, text] : std::exchange(begun_, {}))
    place({{source.first, source.second, std::move(text), Tail::ended}, now}, now, ink);
  while (!waiting_.empty()) {
    break_off(ink);
    release(now, ink);
  }
}

}  // namespace charmtree
