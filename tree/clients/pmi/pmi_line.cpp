// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/pmi/pmi_line.hpp"

#include <algorithm>
#include <charconv>

namespace charmtree::proto {

PmiLine::PmiLine(std::string_view text) : text_(text) {
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    const std::size_t equals = word.find('=');
    if (equals == word.npos) continue;  // the tail of a text
    words_.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  if (!words_.empty() && (words_[0].first == "cmd" || words_[0].first == "mcmd")) command_ = words_[0].second;
}

std::string_view PmiLine::value(std::string_view key) const {
  const auto found =
      std::find_if(words_.begin(), words_.end(), [&](const auto& word) { return word.first == key; });
  return found == words_.end() ? std::string_view{} : found->second;
}

int PmiLine::number(std::string_view key, int otherwise) const {
  const std::string_view text = value(key);
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? number : otherwise;
}

std::string_view PmiLine::rest(std::string_view key) const {
  const std::string_view from = value(key);
  return from.empty() ? from : text_.substr(static_cast<std::size_t>(from.data() - text_.data()));
}

}  // namespace charmtree::proto
