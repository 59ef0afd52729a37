// SPDX-License-Identifier: Apache-2.0
// What processes tell each other so that their queue pairs come together (client-lib/ibverbs), by the objects
// that do it there, and devices that count: with all at once by ranges of numbers or by each number, or on
// demand, where each has six neighbours on a torus of three dimensions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client-lib/ibverbs/pairs.hpp"

namespace charmtree::fence {

class QueuePairs {
public:
  /// `first`: process of each host.
  QueuePairs(std::uint32_t processes, std::vector<std::uint32_t> first);
  QueuePairs(const QueuePairs&) = delete;
  QueuePairs& operator=(const QueuePairs&) = delete;
  ~QueuePairs();

  /// By ranges: of its own.
  std::string told(std::uint32_t process) const;
  /// Empty, or what is wrong: some processes look for each other in what all have told.
  std::string wrong_in_told() const;

  /// By each number: bytes of a key, and of what is offered under it.
  std::size_t key_bytes() const;
  std::size_t number_bytes() const;

  /// On demand: the others that each uses, in the order of their numbers.
  std::vector<std::uint32_t> neighbours(std::uint32_t process) const;
  /// It wants to use this one: what it asks.
  std::string reach(std::uint32_t process, std::uint32_t other);
  /// What it answers; empty: it does so by and by.
  std::string asked(std::uint32_t process, std::uint32_t by, const std::string& key);
  /// What it answers the other one now, if anything.
  std::string told(std::uint32_t process, std::uint32_t by, const std::string& answer);
  /// Empty, or what is wrong: neighbours can send to each other, and there is no queue pair more.
  std::string wrong_in_pairs() const;

private:
  class Device;
  std::uint32_t host_of(std::uint32_t process) const;
  std::uint32_t first_number(std::uint32_t process) const;

  std::uint32_t processes_;
  std::vector<std::uint32_t> first_;
  std::array<std::uint32_t, 3> extents_{};
  std::vector<std::unique_ptr<Device>> devices_;  // by process
  std::vector<ibverbs::Pairs> pairs_;
};

}  // namespace charmtree::fence
