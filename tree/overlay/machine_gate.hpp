// SPDX-License-Identifier: Apache-2.0
// sshd turns logins away when too many have not yet authenticated (MaxStartups, 10:30:100 unless set) and,
// from OpenSSH 9.8 on, when an address has misbehaved (PerSourcePenalties). So a machine, whatever the number
// of its names, gets few logins at a time, only one after it has dropped one, and none while it punishes us.
#pragma once

#include <cstdint>
#include <map>

#include "tree/base/error.hpp"
#include "tree/base/time.hpp"

namespace charmtree::proto {

class MachineGate {
public:
  static constexpr std::uint32_t kMost = 4;  // logins to one machine at a time
  static constexpr Duration kPenalty = 15s;  // sshd lets nobody in for less

  // `machine`: wire::Host::machine; 0 admits everybody.
  bool admits(std::uint32_t machine, Instant now) const;
  /// Not before; only after a penalty does that lie in the future.
  Instant opens(std::uint32_t machine) const;

  void begun(std::uint32_t machine);
  void succeeded(std::uint32_t machine);
  void failed(std::uint32_t machine, Errc code, Instant now);
  /// A login under way ended by our own wish.
  void cancelled(std::uint32_t machine);

private:
  struct Machine {
    std::uint32_t in_flight = 0;
    std::uint32_t most = kMost;
    Instant opens = Instant::min();
  };
  std::map<std::uint32_t, Machine> machines_;  // only those of which there is something to know
};

}  // namespace charmtree::proto
