// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/words.hpp"

#include <algorithm>
#include <array>

namespace charmtree {
namespace {

constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Optimal string alignment distance: insert, delete, replace, swap two neighbours. Three rows are enough.
std::size_t distance(std::string_view a, std::string_view b) {
  using Row = std::array<std::size_t, kMaxGuessedWord + 1>;
  Row two_before{}, before{}, row{};
  for (std::size_t j = 0; j <= b.size(); ++j) before[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool equal = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({before[j] + 1, row[j - 1] + 1, before[j - 1] + (equal ? 0 : 1)});
      const bool swapped =
          i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], two_before[j - 2] + 1);
    }
    two_before = before;
    before = row;
  }
  return before[b.size()];
}

}  // namespace

std::optional<std::vector<std::string>> split_command(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        words.back() += c;
      continue;
    }
    if (is_blank(c)) {
      in_word = false;
      continue;
    }
    if (!in_word) {
      if (words.size() == kMaxCommandWords) return std::nullopt;
      words.emplace_back();
      in_word = true;
    }
    if (c == '\'' || c == '"')
      quote = c;
    else
      words.back() += c;
  }
  if (quote != 0 || words.empty() || words.front().empty()) return std::nullopt;
  return words;
}

std::string_view closest_word(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.empty() || word.size() > kMaxGuessedWord) return {};
  std::string_view best;
  std::size_t best_distance = std::min<std::size_t>(3, std::max<std::size_t>(1, word.size() / 3)) + 1;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > kMaxGuessedWord) continue;
    const std::size_t d = distance(word, candidate);
    if (d < best_distance && d < candidate.size()) {
      best = candidate;
      best_distance = d;
    }
  }
  return best;
}

std::string quotable(std::string_view word) {
  std::string out{word.substr(0, kMaxQuotedWord)};
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  if (word.size() > kMaxQuotedWord) out += "...";
  return out;
}

std::vector<std::string> split_list(std::string_view list, char separator) {
  std::vector<std::string> words;
  while (!list.empty()) {
    const std::string_view word = list.substr(0, list.find(separator));
    if (!word.empty()) words.emplace_back(word);
    list.remove_prefix(std::min(word.size() + 1, list.size()));
  }
  return words;
}

std::string ordinal(std::uint64_t number) {
  const std::uint64_t last = number % 10;
  const bool teen = number / 10 % 10 == 1;
  const std::string_view end = teen ? "th" : last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th";
  return std::to_string(number).append(end);
}

}  // namespace charmtree
