// SPDX-License-Identifier: Apache-2.0
// The first two tuples leave few places where the number can be; each is tried with all.
#include "tree/wire/counted_field.hpp"

#include <algorithm>

namespace charmtree::wire {

namespace {

/// The number does not begin anew behind its highest value.
bool counts(const std::vector<Tuple>& tuples, const CountedField& field) {
  const std::string& first = tuples.front().data;
  const std::size_t behind = field.offset + CountedField::kSize;
  if (behind > first.size()) return false;
  std::uint32_t number = field.in(first);
  return std::all_of(tuples.begin(), tuples.end(), [&](const Tuple& tuple) {
    const std::string& data = tuple.data;
    return data.size() == first.size() && field.in(data) == number++ &&
           data.compare(0, field.offset, first, 0, field.offset) == 0 &&
           data.compare(behind, std::string::npos, first, behind, std::string::npos) == 0;
  });
}

}  // namespace

std::uint16_t CountedField::in(std::string_view tuple) const {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(tuple[offset + at]); };
  const bool big = order == Order::big_endian;
  return static_cast<std::uint16_t>(byte(big ? 0 : 1) << 8 | byte(big ? 1 : 0));
}

void CountedField::set(std::string& tuple, std::uint16_t number) const {
  const bool big = order == Order::big_endian;
  tuple[offset + (big ? 0 : 1)] = static_cast<char>(number >> 8);
  tuple[offset + (big ? 1 : 0)] = static_cast<char>(number & 0xFF);
}

/// The lower byte always changes, and the higher one with it where the lower one begins anew.
std::optional<CountedField> counted_field(const std::vector<Tuple>& tuples,
                                          const std::optional<CountedField>& likely) {
  if (tuples.size() < 2) return {};
  using Order = CountedField::Order;
  const std::string& first = tuples[0].data;
  const std::string& second = tuples[1].data;
  if (first.size() != second.size()) return {};
  const auto changes = static_cast<std::size_t>(
      std::mismatch(first.begin(), first.end(), second.begin()).first - first.begin());
  if (changes == first.size()) return {};
  if (likely && counts(tuples, *likely)) return likely;
  const CountedField places[] = {
      {changes - 1, Order::big_endian}, {changes, Order::little_endian}, {changes, Order::big_endian}};
  for (const CountedField& place : places) {
    if (place.offset < first.size() && counts(tuples, place)) return place;
  }
  return {};
}

}  // namespace charmtree::wire
