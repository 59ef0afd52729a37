// SPDX-License-Identifier: Apache-2.0
// What charmrun makes of words behind its name.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "charmrun/cli/options.hpp"

namespace charmtree::command_lines {

using Words = std::vector<std::string>;

inline Options good(Words words) {
  words.insert(words.begin(), "charmrun");
  const auto options = parse_options(words, {});
  INFO((options ? std::string{} : to_string(options.error())));
  REQUIRE(options.ok());
  return *options;
}

inline std::string failure(Words words) {
  words.insert(words.begin(), "charmrun");
  const auto options = parse_options(words, {});
  REQUIRE_FALSE(options.ok());
  CHECK((options.error().code == Errc::bad_input && options.error().phase == Phase::options));
  return to_string(options.error());
}

inline bool has(const std::string& text, std::string_view part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace charmtree::command_lines
