// SPDX-License-Identifier: Apache-2.0
#include "charmrun/mpiexec/app_file.hpp"

#include <fmt/format.h>

#include <sstream>

#include "charmrun/cli/option_table.hpp"
#include "tree/wire/words.hpp"

namespace charmtree::mpiexec {

Result<std::vector<std::string>> words_of_programs(const std::string& text, const std::string& file) {
  std::vector<std::string> all;
  std::istringstream lines{text};
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos || line[begin] == '#') continue;
    const auto words = split_command(line);
    if (!words)
      return bad_input(
          fmt::format("{}, line {}: a quote is not closed, or too many words", quotable(file), number));
    if (!all.empty()) all.emplace_back(":");
    all.insert(all.end(), words->begin(), words->end());
  }
  if (all.empty())
    return bad_input(fmt::format("{} has no programs", quotable(file)), "a line for each: -n 4 ./app");
  return all;
}

}  // namespace charmtree::mpiexec
