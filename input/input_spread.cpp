// SPDX-License-Identifier: Apache-2.0
#include "input/input_spread.hpp"

#include <algorithm>
#include <utility>

namespace charmtree::input {

void InputSpread::sent(const std::vector<Taker>& takers, std::uint32_t bytes) {
  std::map<Taker, std::uint64_t> now;
  for (const Taker& taker : takers) {
    const auto before = taken_.find(taker);
    now.emplace(taker, before == taken_.end() ? sent_ : before->second);
  }
  taken_ = std::move(now);
  sent_ += bytes;
}

void InputSpread::taken(const Taker& taker, std::uint32_t bytes) {
  const auto it = taken_.find(taker);
  if (it != taken_.end()) it->second = std::min(it->second + bytes, sent_);
}

std::uint32_t InputSpread::take_progress() {
  std::uint64_t all = sent_;
  for (const auto& [taker, bytes] : taken_) all = std::min(all, bytes);
  all = std::max(all, reported_);  // a new one is not behind what the others have taken
  return static_cast<std::uint32_t>(all - std::exchange(reported_, all));
}

}  // namespace charmtree::input
