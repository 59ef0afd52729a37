// SPDX-License-Identifier: Apache-2.0
// Settings by name: a struct of numbers, and a row for each of them.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace charmtree::sim {

template <class Settings>
struct SettingRow {
  std::string_view name;
  double Settings::*member;
};

/// Null: there is no such setting.
template <class Rows>
auto* find_row(const Rows& rows, std::string_view name) {
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const auto& each) { return each.name == name; });
  return row == rows.end() ? nullptr : &*row;
}

/// Names and values, for people.
template <class Rows, class Settings>
std::string describe_rows(const Rows& rows, const Settings& settings) {
  std::string text;
  for (const auto& row : rows) text += fmt::format(" {}={:g}", row.name, settings.*(row.member));
  return text;
}

/// Nothing if that is no number.
inline std::optional<double> number_in(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value)) return {};
  return value;
}

/// A command line: [--seed S] [NAME=VALUE]...
struct Seeded {
  std::uint64_t seed = 1;
  std::vector<std::string> words = {};
};
inline Seeded seeded(int argc, char** argv) {
  Seeded found;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--seed" && i + 1 < argc)
      found.seed = std::strtoull(argv[++i], nullptr, 10);
    else
      found.words.push_back(word);
  }
  return found;
}

}  // namespace charmtree::sim
