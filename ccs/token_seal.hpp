// SPDX-License-Identifier: Apache-2.0
// The tokens by which answers to CCS requests are found. An answer may come from any process: that of a
// multicast, or one that was delayed. So what shows that somebody was asked is that he knows the token, and
// tokens must not follow from each other: the number of a request is sealed by a permutation of all numbers
// that only the root knows (a Feistel network of SipHash). Nothing has to be kept to tell a token that there
// has been from one that is guessed. Pure.
#pragma once

#include <array>
#include <cstdint>

#include "ccs/guard.hpp"

namespace charmtree::ccs {

class TokenSeal {
public:
  /// Tokens have 31 bits: stock programs take them for descriptors.
  static constexpr std::uint32_t kMost = INT32_MAX;

  explicit TokenSeal(const Guard::Secret& secret);
  /// Both take numbers from 0 to kMost, and each is the other's inverse.
  std::uint32_t seal(std::uint32_t number) const;
  std::uint32_t open(std::uint32_t token) const;

private:
  static constexpr unsigned kRounds = 8;
  std::uint32_t with_round(unsigned round, std::uint32_t number) const;

  std::array<std::uint64_t, 2> key_{};
};

}  // namespace charmtree::ccs
