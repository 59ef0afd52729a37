// SPDX-License-Identifier: Apache-2.0
// How many processes have entered each barrier of the job, and how often each has opened. Counts are summed
// up on the way to the root, so that nobody can say whose entries are in a sum: when processes are lost or
// replaced a new epoch begins, and counts of another one are void (losses.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tree/clients/client_server.hpp"

namespace charmtree::proto {

class BarrierCounts {
public:
  /// By BarrierKind.
  using Counts = std::array<std::uint32_t, kBarrierKinds>;

  /// So many more are in them, counted in that epoch.
  void enter(std::uint32_t epoch, const Counts& more);
  /// All are counted from the beginning, in this epoch.
  void begin_epoch(std::uint32_t epoch);
  /// The same, in the present one: whoever was in a barrier has been let go.
  void clear() { entered_ = {}; }
  /// Another root has opened them so often.
  void resume(const Counts& opened) { opened_ = opened; }

  /// It opens if so many are in it, and is empty again then. False: it does not.
  bool open(BarrierKind kind, std::uint32_t awaited);
  /// So often has it opened.
  std::uint32_t opened(BarrierKind kind) const { return opened_[static_cast<std::size_t>(kind)]; }
  /// All were told that they may go.
  bool leaving() const { return opened(BarrierKind::leave) > 0; }

private:
  std::uint32_t epoch_ = 0;
  Counts entered_{}, opened_{};
};

}  // namespace charmtree::proto
