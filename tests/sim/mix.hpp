// SPDX-License-Identifier: Apache-2.0
// What a world is with one seed. A world that has a setting `mix` draws from all others at once: it is one of
// them, with so many settings of others; what it sets itself comes last. Combinations that charmrun refuses
// are drawn again.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/sim/settings.hpp"

namespace charmtree::sim {

/// All worlds, by name.
using Worlds = std::map<std::string, Assignments>;

struct Drawn {
  Settings settings;
  /// NAME=VALUE, all that say the same without any world; of one that is no mix nothing.
  std::vector<std::string> words;
};

/// Error if a name or a value makes no sense, or charmrun refuses what is asked for.
Result<Drawn> draw_world(const Assignments& own, const Worlds& worlds, std::uint64_t seed);

}  // namespace charmtree::sim
