// SPDX-License-Identifier: Apache-2.0
#include "tree/job/last_words.hpp"

#include <algorithm>

namespace charmtree::proto {

void LastWords::append(std::string_view bytes) {
  if (bytes.size() >= kMaxBytes) {
    bytes_ = bytes.substr(bytes.size() - kMaxBytes);
    return;
  }
  if (bytes_.size() + bytes.size() > kMaxBytes) bytes_.erase(0, bytes_.size() + bytes.size() - kMaxBytes);
  bytes_ += bytes;
}

std::vector<std::string> lines_of_last_words(std::string_view bytes) {
  const bool cut = bytes.size() >= LastWords::kMaxBytes;
  if (cut) bytes.remove_prefix(bytes.size() - LastWords::kMaxBytes);  // whoever sent them
  std::vector<std::string> lines(1);
  for (const char c : bytes) {
    if (c == '\n')
      lines.emplace_back();
    else if (c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F))
      lines.back() += c;
  }
  if (cut && lines.size() > 1) lines.erase(lines.begin());  // of a longer line, or whole by chance
  if (cut && lines.size() == 1) lines.front().insert(0, "...");
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  if (lines.size() > LastWords::kMaxLines)
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(LastWords::kMaxLines));
  return lines;
}

}  // namespace charmtree::proto
