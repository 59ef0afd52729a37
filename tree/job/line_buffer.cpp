// SPDX-License-Identifier: Apache-2.0
#include "tree/job/line_buffer.hpp"

#include <algorithm>
#include <utility>

#include "tree/base/characters.hpp"

namespace charmtree::proto {

void LineBuffer::append(std::string_view bytes, Instant now, Duration hold, std::vector<Piece>& ready) {
  if (partial_.empty() || deadline_ == kNever) deadline_ = now + hold;
  // Of so few bytes only the first line, which has begun before, can be too long.
  const std::size_t first = std::min(bytes.find('\n'), bytes.size());
  if (bytes.size() > kMaxLine || partial_.size() + first > kMaxLine) {
    append_long(bytes, ready);
    deadline_ = now + hold;
    return;
  }
  const std::size_t newline = bytes.rfind('\n');
  if (newline == std::string_view::npos) {
    partial_.append(bytes);
    return;
  }
  Piece lines{std::exchange(partial_, {})};
  lines.text.append(bytes.substr(0, newline + 1));
  ready.push_back(std::move(lines));
  partial_ = bytes.substr(newline + 1);
  deadline_ = now + hold;
  open_ = false;
}

/// There may be lines among them that have to be cut.
void LineBuffer::append_long(std::string_view bytes, std::vector<Piece>& ready) {
  Piece lines;
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const std::size_t line = newline == std::string_view::npos ? bytes.size() : newline + 1;
    const bool whole = newline != std::string_view::npos;
    const std::size_t size = partial_.size() + line - (whole ? 1 : 0);
    if (size <= kMaxLine && !whole) {
      partial_.append(bytes);
      break;
    }
    open_ = size > kMaxLine;
    const std::size_t taken = open_ ? kMaxLine - partial_.size() : line;
    lines.text += std::exchange(partial_, {});
    lines.text.append(bytes.substr(0, taken));
    bytes.remove_prefix(taken);
    if (!open_) continue;
    keep_begun_character(lines.text);
    lines.tail = wire::Tail::too_long;
    ready.push_back(std::exchange(lines, {}));
  }
  if (!lines.text.empty()) ready.push_back(std::move(lines));
}

void LineBuffer::keep_begun_character(std::string& text) {
  const std::size_t whole = whole_characters(text);
  partial_ = text.substr(whole);
  text.resize(whole);
}

/// A character whose other bytes have not come waits for them, and so does not expire.
std::string LineBuffer::expired(Instant now) {
  if (now < deadline_) return {};
  std::string text = std::exchange(partial_, {});
  keep_begun_character(text);
  deadline_ = kNever;
  open_ = open_ || !text.empty();
  return text;
}

std::string LineBuffer::flush() {
  open_ = open_ || !partial_.empty();
  return std::exchange(partial_, {});
}

}  // namespace charmtree::proto
