// SPDX-License-Identifier: Apache-2.0
// The fences of one group of processes, as their host counts them.
#pragma once

#include <cstdint>
#include <string>

namespace charmtree::proto {

struct GroupFences {
  std::uint32_t entered = 0;  // by all of this host
  std::uint32_t failed = 0;   // up to that one, of those that come: a fence may fail before it is entered
  std::string failure = {};   // of those

  /// The next one. False: it has failed already.
  bool enter() { return ++entered > failed; }
  /// Of that number.
  void fail(std::uint32_t number, const std::string& why) {
    if (number <= entered) return;
    failed = number;
    failure = why;
  }
};

}  // namespace charmtree::proto
