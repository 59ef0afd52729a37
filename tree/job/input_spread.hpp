// SPDX-License-Identifier: Apache-2.0
// The user's input when every process gets a copy of it (++stdin all): how much of it everybody has taken who
// still takes any. A launcher counts for its processes and for its children, which count for theirs.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

namespace charmtree::proto {

class InputSpread {
public:
  struct Taker {
    enum class Kind : std::uint8_t { process, link };
    Kind kind;
    std::uint32_t number;
    auto operator<=>(const Taker&) const = default;
  };

  /// So many bytes more go to each of `takers`. A new one has missed what went before; one that is not among
  /// them is gone.
  void sent(const std::vector<Taker>& takers, std::uint32_t bytes);
  /// It took so many more. More than it got counts as all; of a stranger it counts nothing.
  void taken(const Taker& taker, std::uint32_t bytes);
  /// It takes no more.
  void gone(const Taker& taker) { taken_.erase(taker); }
  /// How many bytes more all have taken since this was last called.
  std::uint32_t take_progress();

private:
  std::uint64_t sent_ = 0, told_ = 0;
  std::map<Taker, std::uint64_t> taken_;
};

}  // namespace charmtree::proto
