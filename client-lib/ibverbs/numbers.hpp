// SPDX-License-Identifier: Apache-2.0
// The numbers of the queue pairs that one process has made, one for each other process of its job. A device
// gives one after the other to a process that makes its queue pairs while nobody else does, so they travel as
// ranges, of which there are few, instead of each by itself (Xu et al., Optimized All-to-all Connection
// Establishment). It needs no device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tree/wire/codec.hpp"
#include "tree/wire/process_set.hpp"

namespace charmtree::ibverbs {

/// Numbers have 24 bits.
inline constexpr std::uint32_t kMostNumber = (1U << 24) - 1;

/// The place of `rank` among all processes but `owner`, another one.
constexpr std::uint32_t place_among_others(std::uint32_t rank, std::uint32_t owner) {
  return rank < owner ? rank : rank - 1;
}

class Numbers {
public:
  using Range = wire::ProcessSet::Range;

  /// In whatever order they were made. Nothing: one is there twice, or has more than 24 bits.
  static std::optional<Numbers> of(const std::vector<std::uint32_t>& made);

  /// They have one form. The reader is poisoned by any other, and by another count of them than this.
  static Numbers decode(wire::Reader& in, std::uint32_t count);
  void encode(wire::Writer& out) const;

  std::size_t count() const { return numbers_.size(); }
  /// Rise, with gaps between them.
  const std::vector<Range>& ranges() const { return numbers_.ranges(); }
  /// The queue pair that is made by `owner` for `rank`, another one: the lower the rank, the lower the
  /// number. Nothing: there are fewer.
  std::optional<std::uint32_t> number_for(std::uint32_t rank, std::uint32_t owner) const;

private:
  wire::ProcessSet numbers_;
};

}  // namespace charmtree::ibverbs
