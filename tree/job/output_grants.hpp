// SPDX-License-Identifier: Apache-2.0
// How much output each child may send: credit comes back as what it sent has been passed on. All children
// that have ever said anything share one pool, so a launcher's memory is bounded whatever their number; each
// keeps a little, with which it began.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "tree/turn/events.hpp"

namespace charmtree::proto {

class OutputGrants {
public:
  /// Of all children; of each one, at most; what each one has without having been told.
  static constexpr std::size_t kPool = 16U << 20, kMost = 4U << 20, kFirst = 16U << 10;
  /// Whoever has any credit may send one output that exceeds it. This is the cost of the longest that a
  /// launcher sends (OutputQueue::kLongest, the format of a scanf), or a little more.
  static constexpr std::size_t kLargest = 160U << 10;

  /// False: the child had no credit, or not enough for so large an output.
  bool received(LinkId link, std::size_t cost);
  /// That has been passed on; returns the credit to be sent, 0: none for now.
  std::uint64_t passed(LinkId link, std::size_t cost);
  void lost(LinkId link);

private:
  struct Account {
    std::int64_t granted = kFirst;  // and not used
    std::int64_t held = 0;          // received and not passed on
  };
  std::map<LinkId, Account> accounts_;
  std::int64_t total_ = 0;  // of all, granted and held
};

}  // namespace charmtree::proto
