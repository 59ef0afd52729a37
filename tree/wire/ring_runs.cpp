// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/ring_runs.hpp"

#include <algorithm>

namespace charmtree::wire {

bool are_sound(const std::vector<RingRun>& runs) {
  std::uint64_t least = 0;
  for (const RingRun& run : runs) {
    if (run.first < least || run.last < run.first) return false;
    if (std::max(run.head.size(), run.tail.size()) > kMostRingValue) return false;
    least = std::uint64_t{run.last} + 1;
  }
  return true;
}

std::vector<RingRun> joined(const std::vector<RingRun>& runs) {
  std::vector<RingRun> all;
  for (const RingRun& run : runs) {
    if (all.empty() || all.back().last + 1 != run.first) {
      all.push_back(run);
    } else {
      all.back().last = run.last;
      all.back().tail = run.tail;
    }
  }
  return all;
}

RingEnds closed(const RingRun& all) {
  return {all.first, all.tail, all.head};
}

std::optional<std::vector<RingEnds>> ends_within(const std::vector<RingRun>& runs,
                                                 const std::vector<RingRun>& all,
                                                 const std::vector<RingEnds>& ends) {
  std::vector<RingEnds> within;
  auto run = runs.begin();
  for (const RingRun& whole : all) {
    const auto found = std::find_if(ends.begin(), ends.end(),
                                    [&](const RingEnds& each) { return each.first == whole.first; });
    if (found == ends.end()) return {};
    const std::string* left = &found->left;
    for (std::uint32_t next = whole.first;; ++run) {
      if (run == runs.end() || run->first != next) return {};
      if (!within.empty() && next != whole.first) within.back().right = run->head;
      within.push_back({run->first, *left, found->right});
      left = &run->tail;
      next = run->last + 1;
      if (run->last >= whole.last) break;
    }
    if (run->last != whole.last) return {};
    ++run;
  }
  return run == runs.end() ? std::optional{std::move(within)} : std::nullopt;
}

}  // namespace charmtree::wire
