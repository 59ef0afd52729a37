// SPDX-License-Identifier: Apache-2.0
// Counts how much of the user's input all takers have taken, when every process gets a copy (++stdin all).
// The takers of a launcher are the processes of its host and its children, which count for theirs.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

namespace charmtree::input {

class InputSpread {
public:
  struct Taker {
    enum class Kind : std::uint8_t { process, link };
    Kind kind;
    std::uint32_t number;
    auto operator<=>(const Taker&) const = default;
  };

  /// So many more bytes go to each of `takers`. A new taker has missed the bytes before; a taker that is not
  /// among them is gone.
  void sent(const std::vector<Taker>& takers, std::uint32_t bytes);
  /// `taker` has taken so many more. More than it got counts as all; an unknown taker counts nothing.
  void taken(const Taker& taker, std::uint32_t bytes);
  /// `taker` takes no more.
  void gone(const Taker& taker) { taken_.erase(taker); }
  /// Returns how many more bytes all takers have taken since the last call.
  std::uint32_t take_progress();

private:
  std::uint64_t sent_ = 0, reported_ = 0;
  std::map<Taker, std::uint64_t> taken_;
};

}  // namespace charmtree::input
