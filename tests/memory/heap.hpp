// SPDX-License-Identifier: Apache-2.0
// What this program has allocated by `new`, as all containers do.
#pragma once

#include <cstddef>

namespace charmtree::test {

class Heap {
public:
  /// Bytes that are allocated now.
  static std::size_t live();
  /// The most that they have been since the last call of this.
  static std::size_t take_peak();
};

}  // namespace charmtree::test
