// SPDX-License-Identifier: Apache-2.0
// Whether queue pairs are made for all at once, or when they are used first. It needs no device.
#pragma once

#include <cstdint>

namespace charmtree::ibverbs {

/// What one process knows before it connects.
struct Outlook {
  std::uint64_t others = 0;       // in the job
  std::uint64_t neighbours = 0;   // processes of this host, itself among them: they share its device
  std::uint64_t queue_pairs = 0;  // that the device has
  std::uint64_t used = 0;         // others that it is going to use; 0: all
};

/// All at once takes 8 % less than one by one where all are used (Xu et al.), but wants as many of each
/// device as its processes have others; programs that use few mostly use a dozen, of whatever many there are.
/// Between them, half is as good a line as any.
constexpr bool wants_all(const Outlook& outlook) {
  const bool suffice = outlook.neighbours * outlook.others <= outlook.queue_pairs;
  const bool is_dense = outlook.used == 0 || outlook.used * 2 >= outlook.others;
  return suffice && is_dense;
}

}  // namespace charmtree::ibverbs
