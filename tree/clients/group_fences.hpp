// SPDX-License-Identifier: Apache-2.0
// The fences of one group of processes, as their host counts them.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "tree/wire/fence.hpp"

namespace charmtree::proto {

struct GroupFences {
  /// Different groups of processes, and names of such, that may have fences on a host.
  static constexpr std::size_t kMost = 4096;

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

/// Why a fence must fail where those are lost; empty: it need not.
inline std::string loss_of(const wire::Fence& fence, const wire::ProcessSet& lost) {
  const auto process = wire::first_common(fence.processes, lost);
  return process ? fmt::format("process {} is lost", *process) : std::string{};
}

}  // namespace charmtree::proto
