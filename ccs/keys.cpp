// SPDX-License-Identifier: Apache-2.0
#include "ccs/keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "tree/wire/words.hpp"

namespace charmtree::ccs {

namespace {

constexpr int kMaxLevel = 254;
constexpr std::string_view kBlanks = " \t\r\v\f";

/// The i-th pair of characters; a single one is filled up.
std::string pair_at(std::string_view text, std::size_t i) {
  std::string pair{text.substr(2 * i, 2)};
  pair.resize(2, '0');
  return pair;
}

std::size_t pairs(std::string_view text) {
  return std::min(Key{}.size(), (text.size() + 1) / 2);
}

/// As sscanf's %d reads each pair.
Key decimal_reading(std::string_view text) {
  Key key{};
  for (std::size_t i = 0; i < pairs(text); ++i) {
    std::string pair = pair_at(text, i);
    if (pair[0] == '+' && is_digit(pair[1])) pair.erase(0, 1);
    int value = 0;
    if (std::from_chars(pair.data(), pair.data() + pair.size(), value).ec != std::errc{}) break;
    key[i] = static_cast<std::uint8_t>(value);
  }
  return key;
}

std::optional<Key> hexadecimal_reading(std::string_view text) {
  Key key{};
  for (std::size_t i = 0; i < pairs(text); ++i) {
    const std::string pair = pair_at(text, i);
    if (!is_hex_digit(pair[0]) || !is_hex_digit(pair[1])) return {};
    std::from_chars(pair.data(), pair.data() + 2, key[i], 16);
  }
  return key;
}

bool is_strong(const Key& key) {
  return std::count(key.begin(), key.end(), 0) <= static_cast<std::ptrdiff_t>(key.size()) - kLeastKeyBytes;
}

struct Line {
  int level;
  std::string_view key;
};

/// Nothing: a comment.
std::optional<Line> split(std::string_view line) {
  const auto skip = [&line] { line.remove_prefix(std::min(line.size(), line.find_first_not_of(kBlanks))); };
  skip();
  int level = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), level);
  if (error != std::errc{} || level < 0 || level > kMaxLevel) return {};
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  skip();
  line = line.substr(0, line.find_first_of(kBlanks));
  if (line.empty()) return {};
  return Line{level, line};
}

/// The readings of one key; none: it is too weak. `remark`: what its C clients have to know.
std::vector<Key> readings(std::string_view text, bool weak, const std::string& where, std::string& remark) {
  const Key decimal = decimal_reading(text);
  const std::optional<Key> hexadecimal = hexadecimal_reading(text);
  std::vector<Key> good;
  if (hexadecimal && (weak || is_strong(*hexadecimal))) good.push_back(*hexadecimal);
  if (weak || is_strong(decimal)) {
    if (decimal != hexadecimal) good.push_back(decimal);
  } else if (!good.empty()) {
    remark = fmt::format(
        "{}: Charm++'s C clients would read nearly nothing of this key, so that it is taken as hexadecimal "
        "alone (Java clients and ours); 32 decimal digits are a key for all, see also ++server-auth-weak",
        where);
  }
  return good;
}

}  // namespace

const std::vector<Key>& Keys::of(std::uint8_t level) const {
  static const std::vector<Key> none;
  const auto found = levels_.find(level);
  return found == levels_.end() ? none : found->second;
}

std::optional<std::uint8_t> Keys::lowest() const {
  return levels_.empty() ? std::nullopt : std::optional{levels_.begin()->first};
}

Result<KeyFile> read_keys(std::string_view text, const std::string& name, bool weak,
                          const std::function<std::string()>& make_text) {
  KeyFile file;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::string_view whole = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), whole.size() + 1));
    const std::string where = fmt::format("{}, line {}", name, ++number);
    const std::optional<Line> line = split(whole);
    if (!line) continue;
    std::string key{line->key}, remark;
    if (key.starts_with("OTP")) {
      key = make_text();
      file.announced += fmt::format("CCS_OTP_KEY> Level {} key: {}\n", line->level, key);
    } else if (key.size() < 2 || !is_hex_digit(key[0]) || !is_hex_digit(key[1])) {
      return Error{Errc::bad_input, Phase::options, where + ": this is no key",
                   "a key is 32 decimal digits, or OTP for one that is made and shown"};
    }
    std::vector<Key> good = readings(key, weak, where, remark);
    if (good.empty()) {
      return Error{Errc::bad_input, Phase::options, where + ": this key is easily guessed",
                   "32 decimal digits are a good one; ++server-auth-weak takes this one all the same"};
    }
    if (!remark.empty()) file.remarks.push_back(std::move(remark));
    file.keys.set(static_cast<std::uint8_t>(line->level), std::move(good));
  }
  return file;
}

}  // namespace charmtree::ccs
