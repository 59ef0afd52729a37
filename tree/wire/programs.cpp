// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/programs.hpp"

#include <algorithm>
#include <iterator>

namespace charmtree::wire {

std::vector<std::uint32_t> first_processes(const std::vector<FurtherProgram>& further) {
  std::vector<std::uint32_t> firsts{0};
  for (const FurtherProgram& each : further) firsts.push_back(each.first);
  return firsts;
}

std::uint32_t program_of(const std::vector<std::uint32_t>& firsts, std::uint32_t process) {
  const auto next = std::upper_bound(firsts.begin(), firsts.end(), process);
  return next == firsts.begin() ? 0 : static_cast<std::uint32_t>(next - firsts.begin() - 1);
}

std::uint32_t program_of(const std::vector<FurtherProgram>& further, std::uint32_t process) {
  const auto next =
      std::upper_bound(further.begin(), further.end(), process,
                       [](std::uint32_t number, const FurtherProgram& each) { return number < each.first; });
  return static_cast<std::uint32_t>(next - further.begin());
}

World world_of(const std::vector<FurtherProgram>& further, std::uint32_t processes, std::uint32_t process) {
  const auto begins = [](const FurtherProgram& each) { return each.begins_world; };
  const auto behind = further.begin() + program_of(further, process);
  const auto own = std::find_if(std::make_reverse_iterator(behind), further.rend(), begins);
  const auto next = std::find_if(behind, further.end(), begins);
  const std::uint32_t first = own == further.rend() ? 0 : own->first;
  return {first, (next == further.end() ? processes : next->first) - first};
}

bool is_division(const std::vector<FurtherProgram>& further, std::uint32_t processes) {
  std::uint32_t before = 0;
  for (const FurtherProgram& each : further) {
    if (each.first <= before || each.first >= processes || each.arguments.empty()) return false;
    before = each.first;
  }
  return true;
}

}  // namespace charmtree::wire
