// SPDX-License-Identifier: Apache-2.0
// A job that changes its number of processes while it runs (Charm++'s shrink/expand builds): all of its
// processes are let go; some execute themselves anew and register again, the others leave. When that is known
// of each, the numbers of those that stay and of new ones are made. Knows nothing of how hosts are found or
// started.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::proto {

class Resizing {
public:
  /// `old_processes` run and are let go; there will be as many as `wanted` has in all, by host index.
  /// `deadline`: when each must have come back or left.
  Resizing(std::uint32_t old_processes, std::vector<std::uint32_t> wanted, Instant deadline)
      : old_(old_processes), wanted_(std::move(wanted)), deadline_(deadline) {}

  /// A process has registered again, or has left.
  void stayed(std::uint32_t process) { stayers_.insert(process); }
  void left(std::uint32_t process) { leavers_.insert(process); }
  bool complete() const { return stayers_.size() + leavers_.size() >= old_; }
  std::size_t missing() const { return old_ - stayers_.size() - leavers_.size(); }
  Instant deadline() const { return complete() ? kNever : deadline_; }

  /// The processes of every host that has any, numbered through in the order of the hosts. `hosts`: with the
  /// numbers so far. Those that stay do so where they are; new ones go to hosts that have fewer than wanted,
  /// the first ones first. Precondition: complete(). Error bad_peer: more or fewer have stayed than can,
  /// or process 0, which knows the program's state, has not.
  Result<std::vector<wire::Share>> shares(const std::vector<Host>& hosts) const;

private:
  std::uint32_t old_;
  std::vector<std::uint32_t> wanted_;
  Instant deadline_;
  std::set<std::uint32_t> stayers_, leavers_;
};

}  // namespace charmtree::proto
