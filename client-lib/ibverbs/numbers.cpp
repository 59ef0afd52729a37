// SPDX-License-Identifier: Apache-2.0
#include "client-lib/ibverbs/numbers.hpp"

#include <algorithm>

namespace charmtree::ibverbs {

std::optional<Numbers> Numbers::of(const std::vector<std::uint32_t>& made) {
  std::vector<std::uint32_t> rising = made;
  std::sort(rising.begin(), rising.end());
  if (!rising.empty() && rising.back() > kMostNumber) return {};
  Numbers numbers;
  for (const std::uint32_t each : rising) numbers.numbers_.add(each);
  if (numbers.count() != made.size()) return {};
  return numbers;
}

/// How many ranges; of each, how many numbers lie between the one before and it, and how many follow its
/// first.
void Numbers::encode(wire::Writer& out) const {
  out.varint(ranges().size());
  std::uint32_t next = 0;
  for (const auto& [first, last] : ranges()) {
    out.varint(first - next);
    out.varint(last - first);
    next = last + 1;
  }
}

Numbers Numbers::decode(wire::Reader& in, std::uint32_t count) {
  Numbers numbers;
  std::uint64_t next = 0;
  for (std::size_t left = in.count(count); left > 0 && in.ok(); --left) {
    const std::uint64_t gap = in.bounded(kMostNumber), first = next + gap;
    const std::uint64_t last = first + in.bounded(kMostNumber);
    if (last > kMostNumber || (gap == 0 && next > 0)) in.poison();
    if (in.ok()) numbers.numbers_.add({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last)});
    next = last + 1;
  }
  if (numbers.count() != count) in.poison();
  return numbers;
}

std::optional<std::uint32_t> Numbers::number_for(std::uint32_t rank, std::uint32_t owner) const {
  std::uint32_t place = place_among_others(rank, owner);
  for (const auto& [first, last] : ranges()) {
    if (place <= last - first) return first + place;
    place -= last - first + 1;
  }
  return {};
}

}  // namespace charmtree::ibverbs
