// SPDX-License-Identifier: Apache-2.0
// Long bytes that go in several messages.
#pragma once

#include <cstddef>
#include <string_view>

namespace charmtree::wire {

/// Calls `take(piece, last)` for consecutive pieces of at most `size` bytes; once, with nothing, if there are
/// no bytes.
template <class Take>
void for_each_piece(std::string_view bytes, std::size_t size, Take take) {
  do {
    const std::string_view piece = bytes.substr(0, size);
    bytes.remove_prefix(piece.size());
    take(piece, bytes.empty());
  } while (!bytes.empty());
}

}  // namespace charmtree::wire
