// SPDX-License-Identifier: Apache-2.0
// How many fences each group of processes, and each name of one, has had on this host. A program may make up
// names without end (MPI_Comm_create_from_group with ever new tags). So of those the host knows what it can
// beside the groups without a name, GroupFences::kMost of both: those that were used last. A name that comes
// back after so many others counts anew; where its hosts have not all taken part in the same ones, they may
// not agree on its number, and its fence is not complete. A group without a name is never forgotten: all
// processes enter it at their beginning and at their end, whatever some of them have done in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "tree/clients/group_fences.hpp"

namespace charmtree::proto {

class CountedGroups {
public:
  struct Group {
    GroupFences fences = {};
    std::size_t open = 0;  // fences that have begun and are not over
    std::uint64_t used = 0;
  };
  /// Returns that of the group and name whose first fence is `first`; the next call may end it. Null: none
  /// that the host knows may be forgotten.
  Group* use(const wire::Fence& first) {
    auto found = groups_.find(first);
    if (found == groups_.end()) {
      if (groups_.size() >= GroupFences::kMost && !forget_one()) return nullptr;
      found = groups_.emplace(first, Group{}).first;
    } else {
      by_use_.erase(found->second.used);
    }
    by_use_.emplace(found->second.used = ++last_, found);
    return &found->second;
  }
  std::size_t size() const { return groups_.size(); }

private:
  using Groups = std::map<wire::Fence, Group>;

  /// The one whose last use is the longest ago.
  bool forget_one() {
    for (const auto& [used, group] : by_use_) {
      const auto& [first, its] = *group;
      if (first.name.empty() || its.open > 0 || its.fences.failed > its.fences.entered) continue;
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
