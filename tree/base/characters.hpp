// SPDX-License-Identifier: Apache-2.0
// Where text may be cut: between characters of UTF-8, not within one.
#pragma once

#include <cstddef>
#include <string_view>

namespace charmtree {

/// Returns the size of `text` without a character at its end of which bytes are missing. Bytes that are no
/// UTF-8 count as characters of their own.
inline std::size_t whole_characters(std::string_view text) {
  constexpr std::size_t kLongest = 4;
  const auto byte = [&](std::size_t place) { return static_cast<unsigned char>(text[place]); };
  for (std::size_t behind = 1; behind < kLongest && behind <= text.size(); ++behind) {
    const unsigned char first = byte(text.size() - behind);
    const bool continues = first >= 0x80U && first < 0xC0U;
    if (continues) continue;
    const std::size_t length = first >= 0xF0U && first < 0xF8U   ? 4
                               : first >= 0xE0U && first < 0xF0U ? 3
                               : first >= 0xC2U && first < 0xE0U ? 2
                                                                 : 1;
    return length > behind ? text.size() - behind : text.size();
  }
  return text.size();
}

}  // namespace charmtree
