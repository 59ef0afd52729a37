// SPDX-License-Identifier: Apache-2.0
// Which output of which process the root has, in a job that repairs itself: what comes a second time is not
// shown again, and those who keep it are told, not too often, how far they need not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "tree/base/time.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::proto {

class OutputLedger {
public:
  /// News wait for company, but not if there is so much: a host keeps no more than OutputQueue::kShare.
  static constexpr Duration kDelay = 50ms;
  static constexpr std::size_t kMuch = 64U << 10;

  /// False: it has been here before, or one before it has not.
  bool enter(const wire::Output& output, Instant now);
  /// What is to be told now.
  std::vector<wire::OutputTaken::Taken> take(Instant now);
  Instant next_deadline() const { return tell_at_; }

private:
  std::vector<std::uint64_t> numbers_;  // of the last output, by process
  std::set<std::uint32_t> untold_;      // processes
  std::size_t much_ = 0;                // of whose output nobody has been told
  Instant tell_at_ = kNever;
};

}  // namespace charmtree::proto
