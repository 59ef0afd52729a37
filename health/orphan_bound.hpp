// SPDX-License-Identifier: Apache-2.0
// How long something of a job may be left on a host that nobody reaches: a launcher there that cannot reach
// us notices it, and ends what it has started. Not everywhere.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "tree/wire/messages.hpp"

namespace charmtree::proto {

class OrphanBound {
public:
  static constexpr Duration kSlack = 2s;

  explicit OrphanBound(const wire::Heartbeat& heartbeat) : heartbeat_(heartbeat) {}
  /// Of the next run of the program, over the same tree.
  void take_over(OrphanBound& before) { blind_ = std::move(before.blind_); }
  /// Launchers on these hosts would not notice it (Facts::blind).
  void blind(const std::vector<std::uint32_t>& hosts) { blind_.insert(hosts.begin(), hosts.end()); }
  /// The job is suspended: since then a launcher may be alone that does not run.
  void suspended() { was_suspended_ = true; }

  /// Until nothing of the job is left there, if it holds for the host.
  Duration time() const { return heartbeat_.orphan_after + kSlack; }
  bool holds_for(std::uint32_t host) const {
    return heartbeat_.interval > Duration{0} && !was_suspended_ && !blind_.contains(host);
  }

private:
  wire::Heartbeat heartbeat_;
  bool was_suspended_ = false;
  std::set<std::uint32_t> blind_;
};

}  // namespace charmtree::proto
