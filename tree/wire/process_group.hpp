// SPDX-License-Identifier: Apache-2.0
// Processes of which the same is said: how many they are, and who the lowest of them are. So much is kept of
// them however many there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tree/wire/process_set.hpp"

namespace charmtree::wire {

inline constexpr std::size_t kMostGroupRanges = 64;

class ProcessGroup {
public:
  /// So many more, `which` being the lowest of them.
  void add(std::uint32_t more, const std::vector<ProcessSet::Range>& which);
  std::uint32_t processes() const { return processes_; }
  const std::vector<ProcessSet::Range>& which() const { return which_.ranges(); }

private:
  std::uint32_t processes_ = 0;
  ProcessSet which_;
};

/// Of a message's `processes` and `which`: they rise, and are no more than there are.
bool is_group(std::uint32_t processes, const std::vector<ProcessSet::Range>& which);

}  // namespace charmtree::wire
