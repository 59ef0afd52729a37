// SPDX-License-Identifier: Apache-2.0
#include "charmrun/hosts/nodelist_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "charmrun/hosts/host_set.hpp"
#include "tree/base/join.hpp"
#include "tree/wire/words.hpp"

namespace charmtree {
namespace {

constexpr int kMinNice = -20;
constexpr int kMaxNice = 19;
constexpr int kMaxCpus = 1'000'000;

struct KeyRow {
  std::string_view name;
  NodelistKey key;
};
constexpr std::array kKeys = {
    KeyRow{"login", NodelistKey::login},   KeyRow{"shell", NodelistKey::shell},
    KeyRow{"setup", NodelistKey::setup},   KeyRow{"pathfix", NodelistKey::pathfix},
    KeyRow{"ext", NodelistKey::ext},       KeyRow{"nice", NodelistKey::nice},
    KeyRow{"cpus", NodelistKey::cpus},     KeyRow{"speed", NodelistKey::unused},
    KeyRow{"passwd", NodelistKey::unused}, KeyRow{"debugger", NodelistKey::unused},
    KeyRow{"xterm", NodelistKey::unused},  KeyRow{"env", NodelistKey::env},
    KeyRow{"slots", NodelistKey::slots},   KeyRow{"port", NodelistKey::port},
};

Mistake unknown_key(const LineWord& word, std::string_view key) {
  std::array<std::string_view, kKeys.size()> names;
  std::transform(kKeys.begin(), kKeys.end(), names.begin(), [](const KeyRow& row) { return row.name; });
  const std::string_view guess = closest_word(key, names);
  return {word.offset, guess.empty()
                           ? fmt::format("unknown key '{}' (known: {})", quotable(key), join(names, ", "))
                           : fmt::format("unknown key '{}'; did you mean '{}'?", quotable(key), guess)};
}

std::optional<Mistake> find_key(const LineWord& word, const KeyRow*& row) {
  std::string_view key = word.text;
  while (!key.empty() && key.front() == '+') key.remove_prefix(1);
  row = std::find_if(kKeys.begin(), kKeys.end(), [&](const KeyRow& r) { return r.name == key; });
  if (row != kKeys.end()) return std::nullopt;
  return unknown_key(word, key);
}

std::optional<Mistake> read_setting(const LineWord& value, std::string_view key, int low, int high,
                                    int& out) {
  const char* const end = value.text.data() + value.text.size();
  const auto [stop, error] = std::from_chars(value.text.data(), end, out);
  if (error == std::errc{} && stop == end && out >= low && out <= high) return std::nullopt;
  return Mistake{value.offset, fmt::format("{} needs a whole number from {} to {}", key, low, high)};
}

// Reads the value of a key into `setting`; `value` is its first word, which is not *.
std::optional<Mistake> set_value(LineReader& line, const KeyRow& row, const LineWord& value,
                                 NodelistSetting& setting) {
  switch (row.key) {
    case NodelistKey::nice:
      return read_setting(value, row.name, kMinNice, kMaxNice, setting.number);
    case NodelistKey::cpus:
    case NodelistKey::slots:
      return read_setting(value, row.name, 1, kMaxCpus, setting.number);
    case NodelistKey::port:
      return read_setting(value, row.name, 1, static_cast<int>(kMaxSshPort), setting.number);
    case NodelistKey::shell: {
      auto words = split_command(value.text);
      if (!words) return Mistake{value.offset, "shell needs a command, with closed quotes"};
      setting.words = std::move(*words);
      return std::nullopt;
    }
    case NodelistKey::login:
      if (value.text.front() == '-') return Mistake{value.offset, "a login name cannot begin with '-'"};
      setting.text = value.text;
      return std::nullopt;
    case NodelistKey::pathfix: {
      LineWord to;
      Mistake mistake;
      const auto found = line.next(to, mistake);
      if (found == LineReader::Found::mistake) return mistake;
      if (found == LineReader::Found::end) return Mistake{value.offset, "pathfix needs two values: FROM TO"};
      setting.text = value.text;
      setting.to = to.text;
      return std::nullopt;
    }
    case NodelistKey::env:
      if (value.text.find('=') == std::string_view::npos || value.text.front() == '=')
        return Mistake{value.offset, "env needs NAME=VALUE"};
      setting.text = value.text;
      return std::nullopt;
    case NodelistKey::setup:
    case NodelistKey::ext:
      setting.text = value.text;
      return std::nullopt;
    case NodelistKey::unused:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Mistake> read_setting(LineReader& line, const LineWord& word, NodelistSetting& setting) {
  const KeyRow* row = nullptr;
  if (auto mistake = find_key(word, row)) return mistake;
  setting.key = row->key;
  LineWord value;
  Mistake mistake;
  const auto found = row->key == NodelistKey::setup ? line.rest(value, mistake) : line.next(value, mistake);
  if (found == LineReader::Found::mistake) return mistake;
  if (found == LineReader::Found::end || value.text.empty())
    return Mistake{word.offset, fmt::format("{} needs a value (* for its default)", row->name)};
  setting.reset = value.text == "*" && !value.quoted;
  if (setting.reset) return std::nullopt;
  return set_value(line, *row, value, setting);
}

}  // namespace

void LineReader::skip_blanks() {
  while (at_ < line_.size() && is_blank(line_[at_])) ++at_;
}

// `at_` stands on the opening quote.
LineReader::Found LineReader::quoted(LineWord& word, Mistake& mistake) {
  const std::size_t close = line_.find(line_[at_], at_ + 1);
  if (close == std::string_view::npos) {
    mistake = {at_, "this quote is not closed"};
    return Found::mistake;
  }
  word = {line_.substr(at_ + 1, close - at_ - 1), at_, true};
  at_ = close + 1;
  if (at_ < line_.size() && !is_blank(line_[at_])) {
    mistake = {at_, "a blank is missing after the closing quote"};
    return Found::mistake;
  }
  return Found::word;
}

LineReader::Found LineReader::next(LineWord& word, Mistake& mistake) {
  skip_blanks();
  if (at_ == line_.size() || line_[at_] == '#') return Found::end;
  if (line_[at_] == '\'' || line_[at_] == '"') {
    if (const Found found = quoted(word, mistake); found != Found::word) return found;
  } else {
    const std::size_t start = at_;
    while (at_ < line_.size() && !is_blank(line_[at_])) ++at_;
    word = {line_.substr(start, at_ - start), start, false};
  }
  auto control = find_control(word.text);
  if (!control) return Found::word;
  mistake = std::move(*control);
  mistake.offset += static_cast<std::size_t>(word.text.data() - line_.data());
  return Found::mistake;
}

LineReader::Found LineReader::rest(LineWord& word, Mistake& mistake) {
  skip_blanks();
  if (at_ < line_.size() && (line_[at_] == '\'' || line_[at_] == '"')) {
    const std::size_t start = at_;
    if (quoted(word, mistake) == Found::word) {
      skip_blanks();
      if (at_ == line_.size() || line_[at_] == '#' || line_[at_] == '+') return Found::word;
    }
    at_ = start;  // the quotes belong to the command: `"/opt/my tool/on" fast`
  }
  std::string_view text = line_.substr(at_);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  word = {text, at_, false};
  at_ = line_.size();
  if (text.empty() || text.front() == '#') return Found::end;
  const auto control = find_control(text);
  if (!control) return Found::word;
  mistake = {static_cast<std::size_t>(text.data() - line_.data()) + control->offset, "control character"};
  return Found::mistake;
}

std::optional<Mistake> read_settings(LineReader& line, const LineWord* first,
                                     std::vector<NodelistSetting>& out) {
  LineWord word;
  Mistake mistake;
  if (first != nullptr) word = *first;
  while (true) {
    if (first == nullptr) {
      const auto found = line.next(word, mistake);
      if (found == LineReader::Found::mistake) return mistake;
      if (found == LineReader::Found::end) return std::nullopt;
    }
    first = nullptr;
    NodelistSetting setting;
    if (auto wrong = read_setting(line, word, setting)) return wrong;
    if (setting.key != NodelistKey::unused) out.push_back(std::move(setting));
  }
}

std::optional<Mistake> apply_settings(const std::vector<NodelistSetting>& settings, HostOptions& options) {
  const HostOptions defaults;
  for (const NodelistSetting& setting : settings) {
    switch (setting.key) {
      case NodelistKey::login:
        options.login = setting.text;
        break;
      case NodelistKey::shell:
        options.shell = setting.words;
        break;
      case NodelistKey::setup:
        options.setup = setting.text;
        break;
      case NodelistKey::ext:
        options.ext = setting.text;
        break;
      case NodelistKey::nice:
        options.nice = setting.reset ? defaults.nice : setting.number;
        break;
      case NodelistKey::cpus:
        options.cpus = setting.reset ? defaults.cpus : static_cast<std::uint32_t>(setting.number);
        break;
      case NodelistKey::slots:
        options.slots = setting.reset ? defaults.slots : static_cast<std::uint32_t>(setting.number);
        break;
      case NodelistKey::port:
        options.port = setting.reset ? defaults.port : static_cast<std::uint32_t>(setting.number);
        break;
      case NodelistKey::pathfix:
        if (setting.reset) {
          options.path_fixes.clear();
          break;
        }
        if (options.path_fixes.size() == kMaxPathFixes)
          return Mistake{0, fmt::format("more than {} pathfix rules for one host", kMaxPathFixes)};
        options.path_fixes.push_back({setting.text, setting.to});
        break;
      case NodelistKey::env:
        if (setting.reset) {
          options.environment.clear();
          break;
        }
        if (options.environment.size() == kMaxVariables)
          return Mistake{0, fmt::format("more than {} variables for one host", kMaxVariables)};
        options.environment.push_back(setting.text);
        break;
      case NodelistKey::unused:
        break;
    }
  }
  return std::nullopt;
}

}  // namespace charmtree
