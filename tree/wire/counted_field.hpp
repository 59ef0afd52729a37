// SPDX-License-Identifier: Apache-2.0
// Tuples that are equal but for a number of two bytes, which is one higher from each process to the next: so
// are those of a host whose processes have ports that follow each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tree/wire/node_table.hpp"

namespace charmtree::wire {

/// Where in a tuple the number is, and how.
struct CountedField {
  enum class Order : std::uint8_t { big_endian, little_endian };
  static constexpr std::size_t kSize = 2;
  std::size_t offset = 0;
  Order order = Order::big_endian;

  /// Precondition for both: offset + kSize <= tuple.size().
  std::uint16_t in(std::string_view tuple) const;
  void set(std::string& tuple, std::uint16_t number) const;
};

/// Nothing: they are no such tuples, or fewer than two. `likely`: where it is found if it can be there; more
/// than one place may be true where only the lower byte changes.
std::optional<CountedField> counted_field(const std::vector<Tuple>& tuples,
                                          const std::optional<CountedField>& likely = {});

}  // namespace charmtree::wire
