// SPDX-License-Identifier: Apache-2.0
// Who is whose parent, in a tree that is as good as a launch of so many hosts can make it.
#pragma once

#include <cstdint>
#include <vector>

namespace charmtree::silence {

using HostId = std::uint32_t;  // 0: the root's

/// By host, of which none comes before its parent; the root is its own. `branching` 0: the tree of an
/// undisturbed launch, in which everybody starts hosts all the time (tree/overlay/postal.hpp); else everybody
/// has so many.
std::vector<HostId> parents(HostId hosts, std::uint32_t branching);

}  // namespace charmtree::silence
