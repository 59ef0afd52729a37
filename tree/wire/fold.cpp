// SPDX-License-Identifier: Apache-2.0
// The last run of at most 9 digits in a name is its number; names that agree in the text before and after it
// and in the number of digits form one group.
#include "tree/wire/fold.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>

#include "tree/wire/words.hpp"

namespace charmtree::wire {

namespace {

struct Group {
  std::string before, after;
  int digits = 0;
  std::vector<std::uint32_t> numbers;
};

Group split(const std::string& name) {
  constexpr std::size_t kMaxDigits = 9;
  std::size_t end = name.size();
  const bool address = std::all_of(name.begin(), name.end(), [](char c) { return is_digit(c) || c == '.'; });
  while (end > 0 && !is_digit(name[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && is_digit(name[begin - 1])) --begin;
  if (end == begin || end - begin > kMaxDigits || address) return {name, {}, 0, {}};
  return {name.substr(0, begin),
          name.substr(end),
          static_cast<int>(end - begin),
          {static_cast<std::uint32_t>(std::stoul(name.substr(begin, end - begin)))}};
}

std::string ranges(std::vector<std::uint32_t> numbers, int digits) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t j = i;
    while (j + 1 < numbers.size() && numbers[j + 1] == numbers[j] + 1) ++j;
    text += fmt::format("{}{:0{}}", text.empty() ? "" : ",", numbers[i], digits);
    if (j > i) text += fmt::format("-{:0{}}", numbers[j], digits);
    i = j + 1;
  }
  return text;
}

std::string print(const Group& group) {
  if (group.digits == 0) return group.before;
  if (group.numbers.size() == 1)
    return fmt::format("{}{:0{}}{}", group.before, group.numbers[0], group.digits, group.after);
  return fmt::format("{}[{}]{}", group.before, ranges(group.numbers, group.digits), group.after);
}

}  // namespace

std::string fold_names(const std::vector<std::string>& names, std::size_t limit) {
  std::vector<Group> groups;
  std::map<std::string, std::size_t> known;
  for (const std::string& name : names) {
    Group group = split(name);
    const std::string key = fmt::format("{}\n{}\n{}", group.before, group.after, group.digits);
    const auto [it, fresh] = known.emplace(key, groups.size());
    if (fresh)
      groups.push_back(std::move(group));
    else if (group.digits != 0)
      groups[it->second].numbers.push_back(group.numbers[0]);
  }
  std::string text;
  std::size_t shown = 0;
  for (const Group& group : groups) {
    if (shown == limit) return fmt::format("{} and {} more", text, groups.size() - limit);
    text += (shown++ == 0 ? "" : ", ") + print(group);
  }
  return text;
}

std::string fold_ranges(std::vector<std::uint32_t> numbers) {
  return ranges(std::move(numbers), 1);
}

std::string fold_numbers(std::vector<std::uint32_t> numbers) {
  const bool one = numbers.size() == 1;
  return fmt::format("{} {}", one ? "process" : "processes", ranges(std::move(numbers), 1));
}

}  // namespace charmtree::wire
