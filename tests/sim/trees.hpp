// SPDX-License-Identifier: Apache-2.0
// Launches on paper, to compare with: the ideal pool, from which everybody takes hosts at no cost, and static
// trees, whose hosts are bound before anything is known. In both a launcher is busy for `occupancy` with each
// login, and a host's launcher is there `latency` later. A dead host is noticed after `give_up`, and tried
// once.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/sim/hosts.hpp"

namespace charmtree::sim {

/// When the last living host is up.
Duration ideal_pool(const Hosts& hosts, Duration occupancy);

/// `branching` 0: the tree that is best if all goes well, by the postal model with `latency`. Shares are
/// contiguous; the first host of a share starts the rest. If it is dead, the next one has to.
Duration static_tree(const Hosts& hosts, std::uint32_t branching, const Settings& settings);

/// Settings::inner: draws a host that such a tree has right below the root, with hosts below it, and makes it
/// dead.
void kill_inner_host(Hosts& hosts, const Settings& settings, Random& random);

}  // namespace charmtree::sim
