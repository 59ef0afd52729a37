// SPDX-License-Identifier: Apache-2.0
// How many fences each group of processes, and each name of one, has had on this host. A program may make up
// names without end (MPI_Comm_create_from_group with ever new tags). So the host knows those that were used
// last, GroupFences::kMost of them. A name that comes back after so many others counts anew; where its hosts
// have not all taken part in the same ones, they may not agree on its number, and its fence is not complete.
#pragma once

#include <cstdint>
#include <map>

#include "tree/clients/group_fences.hpp"

namespace charmtree::proto {

class CountedGroups {
public:
  /// Returns that of the group and name whose first fence is `first`. Null: all that it knows are in a fence.
  GroupFences* use(const wire::Fence& first) {
    auto found = groups_.find(first);
    if (found == groups_.end()) {
      if (groups_.size() >= GroupFences::kMost && !forget_one()) return nullptr;
      found = groups_.emplace(first, Group{}).first;
    } else {
      by_use_.erase(found->second.used);
    }
    by_use_.emplace(found->second.used = ++last_, found);
    return &found->second.fences;
  }
  /// One of its fences has begun, or is over.
  void begun(const wire::Fence& first) { change(first, 1); }
  void over(const wire::Fence& first) { change(first, -1); }
  std::size_t size() const { return groups_.size(); }

private:
  struct Group {
    GroupFences fences = {};
    int open = 0;
    std::uint64_t used = 0;
  };
  using Groups = std::map<wire::Fence, Group>;

  void change(const wire::Fence& first, int by) {
    if (const auto found = groups_.find(first); found != groups_.end()) found->second.open += by;
  }
  /// The one whose last use is the longest ago, of those that are in no fence.
  bool forget_one() {
    for (const auto& [used, group] : by_use_) {
      const Group& its = group->second;
      if (its.open > 0 || its.fences.failed > its.fences.entered) continue;
      groups_.erase(group);
      by_use_.erase(used);
      return true;
    }
    return false;
  }

  Groups groups_;                                     // by the first fence of each
  std::map<std::uint64_t, Groups::iterator> by_use_;  // the longest ago first
  std::uint64_t last_ = 0;
};

}  // namespace charmtree::proto
