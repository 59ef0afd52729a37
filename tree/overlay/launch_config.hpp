// SPDX-License-Identifier: Apache-2.0
// What a launcher knows of itself when it begins to start others.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tree/base/time.hpp"
#include "tree/overlay/postal.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::proto {

struct LaunchConfig {
  std::uint32_t retries = 3;     // per host and transport, after transient failures only
  Duration first_pause = 250ms;  // before the second try; doubles
  bool is_root = false;
  std::uint32_t level = 0;  // of this launcher
  std::uint32_t self = wire::kRootIndex;
  std::size_t most_links = SIZE_MAX;  // to children; hosts that others can start are left to them then
  Postal postal;                      // what a login costs, as far as is known beforehand
};

}  // namespace charmtree::proto
