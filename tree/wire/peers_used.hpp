// SPDX-License-Identifier: Apache-2.0
// How many others the clients of the library have looked up or asked, as they tell when they finalize:
// whether a program is better served by the whole table or by asking.
#pragma once

#include <algorithm>
#include <cstdint>

namespace charmtree::wire {

/// Of one process; it then means: or more.
inline constexpr std::uint32_t kMostPeersTold = 256;

struct PeersUsed {
  std::uint64_t processes = 0;        // that have told it
  std::uint32_t least = 0, most = 0;  // of one of them
  std::uint64_t all = 0;              // of all of them together

  /// More processes than a job can have are not believed: who tells of them lies, and what is told on stays
  /// sound.
  void add(const PeersUsed& more) {
    if (more.processes == 0 || processes + more.processes > UINT32_MAX) return;
    least = processes == 0 ? more.least : std::min(least, more.least);
    most = std::max(most, more.most);
    processes += more.processes;
    all += more.all;
  }
  friend bool operator==(const PeersUsed&, const PeersUsed&) = default;
};

/// It adds up.
inline bool is_sound(const PeersUsed& peers) {
  return peers.least <= peers.most && peers.most <= kMostPeersTold && peers.processes <= UINT32_MAX &&
         peers.all >= peers.processes * peers.least && peers.all <= peers.processes * peers.most;
}

}  // namespace charmtree::wire
