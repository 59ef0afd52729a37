// SPDX-License-Identifier: Apache-2.0
// The logins that wait: for an instant (their next try, the end of their machine's penalty), or for another
// login to the same machine to end, where that has as many as it admits (machine_gate). It knows children by
// their links only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "tree/base/error.hpp"
#include "tree/base/time.hpp"
#include "tree/overlay/machine_gate.hpp"
#include "tree/turn/events.hpp"

namespace charmtree::proto {

class LoginQueue {
public:
  /// The login may begin at `at`.
  void add(LinkId link, Instant at);
  /// It may begin when its machine, which does not admit it now, has room again.
  void add_behind(std::uint32_t machine, LinkId link, Instant now);
  /// It does not wait any more; nothing if it does not.
  void remove(LinkId link, std::uint32_t machine);
  /// One that may begin now, the one that has waited longest; it does not wait any more.
  std::optional<LinkId> take_due(Instant now);
  /// When the next one may begin; kNever: not before another login has ended.
  Instant next() const { return due_.empty() ? kNever : due_.begin()->first; }
  bool empty() const { return due_.empty() && blocked_.empty(); }

  // Of a login to `machine`: whether it may begin, and how it ended. An end lets others begin.
  bool admits(std::uint32_t machine, Instant now) const { return gate_.admits(machine, now); }
  void begun(std::uint32_t machine) { gate_.begun(machine); }
  void succeeded(std::uint32_t machine, Instant now);
  void failed(std::uint32_t machine, Errc code, Instant now);
  /// By our own wish, with all others that have begun or wait: no other begins for it.
  void cancelled(std::uint32_t machine) { gate_.cancelled(machine); }

private:
  void let_in(std::uint32_t machine, Instant now);

  MachineGate gate_;
  std::set<std::pair<Instant, LinkId>> due_;
  std::map<LinkId, Instant> times_;  // the same, by link
  std::map<std::uint32_t, std::set<LinkId>>
      blocked_;  // by machine; links are in the order in which they came
};

}  // namespace charmtree::proto
