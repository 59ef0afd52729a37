// SPDX-License-Identifier: Apache-2.0
// Which processes this one has looked up or asked, as far as they are few.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "client-lib/charmtree.h"

namespace charmtree::client {

class Peers {
public:
  /// Looked up by all processes all the time: a few instructions if it is known, or they are many.
  void add(std::uint32_t process) {
    if (count_ == CT_MAX_PEERS) return;
    if (slots_.empty()) slots_.resize(kSlots, kNobody);
    std::size_t slot = process * kSpread >> kShift;
    while (slots_[slot] != process) {
      if (slots_[slot] == kNobody) {
        slots_[slot] = process;
        ++count_;
        return;
      }
      slot = (slot + 1) % kSlots;
    }
  }
  int count() const { return count_; }

private:
  static constexpr std::size_t kSlots = 2 * std::size_t{CT_MAX_PEERS};
  static constexpr std::uint32_t kNobody = UINT32_MAX, kSpread = 2654435769, kShift = 23;
  static_assert(kSlots == 1U << (32 - kShift));

  std::vector<std::uint32_t> slots_;
  int count_ = 0;
};

}  // namespace charmtree::client
