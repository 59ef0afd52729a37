// SPDX-License-Identifier: Apache-2.0
// Words that people write: a command split into its words, and the guess that an error message makes about a
// word that it does not know. Used by the nodelist and by the command line.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace charmtree {

inline constexpr std::size_t kMaxCommandWords = 1000;
inline constexpr std::size_t kMaxQuotedWord = 80;
inline constexpr std::size_t kMaxGuessedWord = 64;  // longer words get no guess

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_hex_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

constexpr bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

/// The words of a command such as `ssh -p 2222` or `ssh -o 'Ciphers aes128-ctr'`: separated by blanks and
/// tabs; '...' and
/// "..." anywhere hold blanks together and are removed; nothing else is special (no backslash, no $). Nothing
/// if a quote is not closed, if there is no word at all or no command name, or more than kMaxCommandWords
/// words.
std::optional<std::vector<std::string>> split_command(std::string_view text);

/// The candidate that `word` was probably meant to be: the one with the fewest wrong, missing, extra or
/// swapped characters, capitals not counted, if these are few; the earliest of equals. Empty if none is near.
std::string_view closest_word(std::string_view word, std::span<const std::string_view> candidates);

/// `word` as a message may quote it: at most kMaxQuotedWord bytes, then "...", and control characters as '?'.
std::string quotable(std::string_view word);

/// The words of a list with commas, or others, between them; empty ones are left out.
std::vector<std::string> split_list(std::string_view list, char separator = ',');

/// Reads a number that is all of the text; false: it is none, or does not fit.
template <class Number>
bool read_whole(std::string_view text, Number& out) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && stop == text.data() + text.size();
}

/// "1st", "22nd", "113th".
std::string ordinal(std::uint64_t number);

}  // namespace charmtree
