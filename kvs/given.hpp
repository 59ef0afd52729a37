// SPDX-License-Identifier: Apache-2.0
// What all hosts have given for a fence, as it goes down the tree: packed once, at the root, as every link
// carries it, and each host's own. Addresses of processes are much alike: a fifth of them is left.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tree/wire/kvs_messages.hpp"

namespace charmtree::proto {

/// Smaller if it is large enough for that.
std::string pack_given(std::string_view given);
/// Nothing: it has not been packed so, or is of more than `most` bytes.
std::optional<std::string> unpack_given(std::string_view packed, std::size_t most);
/// The whole of a fence, unpacked, of its pieces (not none); of more than `most` bytes it has failed.
wire::FenceDown whole_fence(const std::vector<wire::FenceDown>& pieces, std::size_t most);

}  // namespace charmtree::proto
