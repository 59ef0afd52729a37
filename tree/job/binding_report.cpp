// SPDX-License-Identifier: Apache-2.0
#include "tree/job/binding_report.hpp"

#include <algorithm>
#include <string>

#include "tree/turn/binding.hpp"

namespace charmtree::proto {

void BindingReport::turn(bool all_told, const std::vector<Host>& hosts, Actions& out) {
  if (told_.empty() || !all_told) return;
  std::sort(told_.begin(), told_.end(), [](const auto& a, const auto& b) { return a.host < b.host; });
  for (std::string& line : describe(told_, hosts)) out.push_back(Say{Tone::info, std::move(line)});
  told_.clear();
}

}  // namespace charmtree::proto
