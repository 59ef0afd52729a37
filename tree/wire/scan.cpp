// SPDX-License-Identifier: Apache-2.0
// The format is rewritten so that libc's sscanf stores nothing but positions: each conversion is suppressed
// (%5ld becomes %*5d) and followed by %n. sscanf then tells three things apart: the last %n was reached
// (match), the input ended too soon (EOF), or a character does not fit (neither). Because sscanf reads its
// whole text first, it is given prefixes that grow by doubling.
#include "tree/wire/scan.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <optional>

#include "tree/wire/words.hpp"

namespace charmtree::wire {

namespace {

// Places for %n: one behind each conversion and one at the end. Suppressed and stored conversions alike take
// one.
constexpr std::size_t kMarks = 24;
constexpr std::size_t kMaxMarkedConversions = kMarks - 1;
constexpr std::size_t kMaxWidthDigits = 6;
constexpr std::size_t kFirstPrefix = 256;

struct Rewritten {
  std::string format;
  std::size_t conversions = 0;
  bool counts = false;  // has a %n
};

/// The end of a %[...] set whose '[' is at `at`: behind its ']'; npos if there is none. A ']' that comes
/// first belongs to the set.
std::size_t set_end(std::string_view format, std::size_t at) {
  std::size_t first = at + 1;
  if (first < format.size() && format[first] == '^') ++first;
  const std::size_t close = format.find(']', first + 1);
  return close == std::string_view::npos ? close : close + 1;
}

/// Rewrites the conversion that follows the '%' before `at`; the position behind it, or npos if it is not a
/// conversion.
std::size_t rewrite_one(std::string_view format, std::size_t at, Rewritten& out, int& stored) {
  const auto here = [&] { return at < format.size() ? format[at] : '\0'; };
  const bool suppressed = here() == '*';
  if (suppressed) ++at;
  std::string width;
  for (; is_digit(here()); ++at) width.push_back(here());
  if (width.size() > kMaxWidthDigits || (!width.empty() && width.find_first_not_of('0') == std::string::npos))
    return std::string::npos;
  while (here() != '\0' && std::string_view{"hlLqjztm"}.find(here()) != std::string_view::npos)
    ++at;  // no type: nothing is stored
  const char conversion = here();
  if (conversion == 'n') {
    out.counts = true;
    return at + 1;
  }
  std::size_t end = at + 1;
  std::string text(
      1, static_cast<char>(conversion == 'C' || conversion == 'S' ? std::tolower(conversion) : conversion));
  if (conversion == '[') {
    end = set_end(format, at);
    if (end == std::string_view::npos) return end;
    text = format.substr(at, end - at);
  } else if (conversion == '\0' ||
             std::string_view{"diouxXeEfFgGaApscCS"}.find(conversion) == std::string_view::npos) {
    return std::string::npos;
  }
  if (!suppressed && ++stored > kMaxScanConversions) return std::string::npos;
  if (++out.conversions > kMaxMarkedConversions) return std::string::npos;
  out.format += "%*" + width + text + "%n";
  return end;
}

std::optional<Rewritten> rewrite(std::string_view format) {
  if (format.size() > kMaxScanFormat || format.find('\0') != std::string_view::npos) return std::nullopt;
  Rewritten out;
  int stored = 0;
  for (std::size_t at = 0; at < format.size();) {
    const char c = format[at];
    if (c != '%') {
      out.format.push_back(c);
      ++at;
    } else if (at + 1 < format.size() && format[at + 1] == '%') {
      out.format += "%%";
      at += 2;
    } else {
      at = rewrite_one(format, at + 1, out, stored);
      if (at == std::string_view::npos) return std::nullopt;
    }
  }
  out.format += "%n";
  return out;
}

struct Match {
  enum class Kind { matched, short_input, mismatch } kind;
  std::size_t at;  // matched: end of the match; else: end of the last conversion that matched
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
/// `text` without NUL.
Match match(const Rewritten& format, const std::string& text) {
  std::array<int, kMarks> n;
  n.fill(-1);
  const int result = std::sscanf(text.c_str(), format.format.c_str(), &n[0], &n[1], &n[2], &n[3], &n[4],
                                 &n[5], &n[6], &n[7], &n[8], &n[9], &n[10], &n[11], &n[12], &n[13], &n[14],
                                 &n[15], &n[16], &n[17], &n[18], &n[19], &n[20], &n[21], &n[22], &n[23]);
  const int end = n[format.conversions];
  if (end >= 0) return {Match::Kind::matched, static_cast<std::size_t>(end)};
  const int reached = *std::max_element(n.begin(), n.end());
  return {result == EOF ? Match::Kind::short_input : Match::Kind::mismatch,
          static_cast<std::size_t>(std::max(reached, 0))};
}
#pragma GCC diagnostic pop

/// The end of the line on which the format fails, which did match up to `at`; nothing if that line is not
/// complete. Complete it must be: "-" does not match %d, "-5" does.
std::optional<std::size_t> failing_line(const Rewritten& format, const std::string& text, std::size_t at) {
  const std::size_t newline = text.find('\n', at);
  if (newline == std::string::npos) return std::nullopt;
  if (match(format, text.substr(0, newline + 1)).kind == Match::Kind::mismatch) return newline + 1;
  // The rest of that line is blank and was skipped: it fails at the next word.
  const std::size_t word = text.find_first_not_of(" \t\n\v\f\r", at);
  const std::size_t end = word == std::string::npos ? word : text.find('\n', word);
  if (end == std::string::npos) return std::nullopt;
  return end + 1;
}

Scan line(std::string_view input, bool eof) {
  const std::size_t newline = input.find('\n');
  if (newline != std::string_view::npos) return {true, newline + 1};
  return {eof, eof ? input.size() : 0};
}

}  // namespace

Scan scan_prefix(std::string_view format, std::string_view input, bool eof) {
  const std::optional<Rewritten> rewritten = rewrite(format);
  if (!rewritten) return line(input, eof);
  for (std::size_t size = kFirstPrefix;; size *= 2) {
    const bool whole = size >= input.size();
    std::string text{input.substr(0, size)};
    std::replace(text.begin(), text.end(), '\0', ' ');
    const Match found = match(*rewritten, text);
    if (found.kind == Match::Kind::matched && (found.at < text.size() || (whole && eof)))
      return {true, found.at};
    if (found.kind == Match::Kind::mismatch) {
      const std::optional<std::size_t> end = failing_line(*rewritten, text, found.at);
      if (end) return {true, *end};
    }
    if (whole) return {eof, eof ? input.size() : 0};
  }
}

/// With its conversions rewritten, a format shows its first one at once, without length and flags.
bool skips_leading_blanks(std::string_view format) {
  const std::optional<Rewritten> rewritten = rewrite(format);
  if (!rewritten || rewritten->counts) return false;
  const std::string& text = rewritten->format;
  if (std::isspace(static_cast<unsigned char>(text.front())) != 0 || text.starts_with("%%")) return true;
  const std::size_t conversion = text.find_first_not_of("%*0123456789");
  return text.starts_with("%*") && text[conversion] != 'c' && text[conversion] != '[';
}

}  // namespace charmtree::wire
