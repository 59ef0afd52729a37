// SPDX-License-Identifier: Apache-2.0
#include "charmrun/hosts/host_pattern.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tree/wire/words.hpp"

namespace charmtree {
namespace {

constexpr std::size_t kMaxDigits = 15;  // fits in 64 bits with room

constexpr bool is_host_character(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '-' ||
         c == '_' || c == ':' || c == '%' || static_cast<unsigned char>(c) >= 0x80;
}

std::string describe_bad_character(char c) {
  if (c == ']') return "']' without '['";
  const auto byte = static_cast<unsigned char>(c);
  if (byte < 0x20 || byte == 0x7F)
    return fmt::format("a host name cannot hold the control character 0x{:02x}", byte);
  return fmt::format("a host name cannot hold '{}'", c);
}

// The decimal number at `at`, which is moved past it. False if there is none, or one too long.
bool read_number(std::string_view text, std::size_t& at, std::uint64_t& value, std::size_t& digits) {
  const std::size_t start = at;
  value = 0;
  while (at < text.size() && is_digit(text[at]) && at - start < kMaxDigits)
    value = value * 10 + static_cast<std::uint64_t>(text[at++] - '0');
  digits = at - start;
  return digits > 0 && (at == text.size() || !is_digit(text[at]));
}

}  // namespace

// `at` stands on '['; afterwards behind ']'.
std::optional<Mistake> HostPattern::parse_bracket(std::string_view text, std::size_t& at, Piece& piece) {
  const std::size_t open = at++;
  while (true) {
    Range range;
    std::size_t digits = 0;
    const std::size_t start = at;
    if (!read_number(text, at, range.low, digits))
      return Mistake{start, "a range needs numbers: node[01-16,20]"};
    range.high = range.low;
    range.width = text[start] == '0' ? digits : 0;
    if (at < text.size() && text[at] == '-') {
      const std::size_t high = ++at;
      if (!read_number(text, at, range.high, digits)) return Mistake{at, "the range has no upper end"};
      if (text[high] == '0' && digits != high - 1 - start)
        return Mistake{high, "the two ends of the range have zeros in front in different ways"};
      if (range.high < range.low) return Mistake{start, "the range runs backwards"};
    }
    piece.ranges.push_back(range);
    if (at == text.size()) return Mistake{open, "'[' without ']'"};
    const char c = text[at++];
    if (c == ']') return std::nullopt;
    if (c != ',') return Mistake{at - 1, "a range is written as in node[01-16,20]"};
  }
}

std::optional<Mistake> HostPattern::parse(std::string_view text, HostPattern& out) {
  out = HostPattern{};
  if (text.empty()) return Mistake{0, "the host name is empty"};
  if (text.front() == '-')
    return Mistake{0, "a host name cannot begin with '-': ssh would take it for an option"};
  if (text.front() == '%') return Mistake{0, "a host name cannot begin with '%'"};
  std::size_t length = 0;  // of the longest name
  for (std::size_t at = 0; at < text.size();) {
    Piece piece;
    while (at < text.size() && is_host_character(text[at])) piece.text += text[at++];
    length += piece.text.size();
    if (at < text.size()) {
      if (text[at] != '[') return Mistake{at, describe_bad_character(text[at])};
      const std::size_t open = at;
      if (out.pieces_.size() == kMaxPatternBrackets) return Mistake{at, "too many brackets in one host name"};
      if (auto mistake = parse_bracket(text, at, piece)) return mistake;
      std::uint64_t numbers = 0;
      std::size_t digits = 0;
      for (const Range& range : piece.ranges) {
        numbers += std::min(range.high - range.low + 1, kMaxPatternHosts + 1);
        digits = std::max({digits, range.width, std::to_string(range.high).size()});
      }
      length += digits;
      out.count_ = numbers > kMaxPatternHosts ? numbers : out.count_ * numbers;
      if (out.count_ > kMaxPatternHosts)
        return Mistake{open, fmt::format("more than {} hosts in one name", kMaxPatternHosts)};
    }
    out.pieces_.push_back(std::move(piece));
  }
  if (length > kMaxHostName)
    return Mistake{0, fmt::format("the host name is longer than {} bytes", kMaxHostName)};
  return std::nullopt;
}

void HostPattern::expand_from(std::size_t piece, std::string& prefix, std::vector<std::string>& out) const {
  if (piece == pieces_.size()) {
    out.push_back(prefix);
    return;
  }
  const std::size_t start = prefix.size();
  prefix += pieces_[piece].text;
  if (pieces_[piece].ranges.empty()) expand_from(piece + 1, prefix, out);
  const std::size_t number_at = prefix.size();
  for (const Range& range : pieces_[piece].ranges) {
    for (std::uint64_t number = range.low; number <= range.high; ++number) {
      prefix += fmt::format("{:0{}}", number, range.width);
      expand_from(piece + 1, prefix, out);
      prefix.resize(number_at);
    }
  }
  prefix.resize(start);
}

std::vector<std::string> HostPattern::expand() const {
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(count_));
  std::string prefix;
  expand_from(0, prefix, names);
  return names;
}

}  // namespace charmtree
