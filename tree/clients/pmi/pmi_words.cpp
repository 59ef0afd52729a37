// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/pmi/pmi_words.hpp"

#include <algorithm>

#include "tree/wire/words.hpp"

namespace charmtree::proto {

namespace {

constexpr std::size_t kLength = 6;  // of the length

/// Up to what ends the first word of `text`.
std::string_view first_word(PmiVersion version, std::string_view text) {
  if (version == PmiVersion::one) return text.substr(0, text.find(' '));
  std::size_t end = text.find(';');
  while (end != text.npos && text.substr(end, 2) == ";;") end = text.find(';', end + 2);
  return text.substr(0, end);
}

}  // namespace

std::string in_version_two(std::string_view text) {
  std::string value;
  for (const char c : text) value.append(c == ';' ? 2 : 1, c);
  return value;
}

std::string from_version_two(std::string_view value) {
  std::string text;
  for (std::size_t i = 0; i < value.size(); ++i) {
    text += value[i];
    if (value.substr(i, 2) == ";;") ++i;
  }
  return text;
}

std::string one_word(std::string_view text) {
  std::string word{text};
  std::replace_if(
      word.begin(), word.end(), [](char c) { return c == ' ' || c == ';' || c == '\n'; }, '_');
  return word;
}

bool fits_version_one(std::string_view text) {
  return text.find_first_of(" \n") == text.npos;
}

PmiWords::PmiWords(PmiVersion version, std::string_view text) : version_(version), text_(text) {
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view word = first_word(version, rest);
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    const std::size_t equals = word.find('=');
    if (equals == word.npos) continue;  // the tail of a text
    words_.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  if (!words_.empty() && (words_[0].first == "cmd" || words_[0].first == "mcmd")) command_ = words_[0].second;
}

std::string_view PmiWords::value(std::string_view key) const {
  const auto found =
      std::find_if(words_.begin(), words_.end(), [&](const auto& word) { return word.first == key; });
  return found == words_.end() ? std::string_view{} : found->second;
}

std::string PmiWords::text(std::string_view key) const {
  const std::string_view its = value(key);
  return version_ == PmiVersion::one ? std::string{its} : from_version_two(its);
}

int PmiWords::number(std::string_view key, int otherwise) const {
  int number = 0;
  return read_whole(value(key), number) ? number : otherwise;
}

std::string_view PmiWords::rest(std::string_view key) const {
  const std::string_view from = value(key);
  return from.empty() ? from : text_.substr(static_cast<std::size_t>(from.data() - text_.data()));
}

PmiExtent first_request(PmiVersion version, std::string_view bytes) {
  if (version == PmiVersion::one) {
    const std::size_t end = bytes.find('\n');
    return end == bytes.npos ? PmiExtent{} : PmiExtent{0, end, end + 1};
  }
  if (bytes.size() < kLength) return {};
  std::string_view digits = bytes.substr(0, kLength);  // with blanks before them, or, of Slurm, behind
  digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
  digits = digits.substr(0, digits.find_last_not_of(' ') + 1);
  std::size_t size = 0;
  if (!read_whole(digits, size)) return {0, 0, 0, false};
  return bytes.size() - kLength < size ? PmiExtent{} : PmiExtent{kLength, size, kLength + size};
}

}  // namespace charmtree::proto
