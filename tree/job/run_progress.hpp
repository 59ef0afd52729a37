// SPDX-License-Identifier: Apache-2.0
// How far a run of the program has come, as one launcher has heard of it: several parts ask, and another
// parent is told.
#pragma once

#include <array>
#include <cstdint>

#include "tree/wire/messages.hpp"
#include "tree/wire/process_set.hpp"

namespace charmtree::proto {

struct RunProgress {
  std::uint32_t epoch = 0;               // of the last table, or loss
  std::uint32_t gone = 0;                // processes here and below without which the job goes on
  std::uint32_t survivors = UINT32_MAX;  // of the last crash, here and below
  bool has_numbers = false;              // where processes wait for the hosts
  bool has_table = false, any_registered = false;
  std::array<std::uint32_t, 3> releases{};  // of barriers, by kind
  wire::ProcessSet lost;                    // as everybody has been told
  wire::ProcessSet below_lost_launchers;    // as we have heard or told upwards

  void count(const wire::Release& release) { ++releases[release.kind % releases.size()]; }
};

}  // namespace charmtree::proto
