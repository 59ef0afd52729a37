// SPDX-License-Identifier: Apache-2.0
// Who is whose parent, in a tree that is as good as a launch of so many hosts can make it.
#pragma once

#include <cstdint>
#include <vector>

namespace charmtree::sim {

/// By host, of which none comes before its parent; the root, 0, is its own. `branching` 0: the tree of an
/// undisturbed launch, in which everybody starts hosts all the time (tree/overlay/postal.hpp); else everybody
/// has so many.
std::vector<std::uint32_t> parents(std::uint32_t hosts, std::uint32_t branching);

}  // namespace charmtree::sim
