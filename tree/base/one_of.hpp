// SPDX-License-Identifier: Apache-2.0
// A variant of many types under a name of its own (wire::Message): what every variant has is compiled once,
// and which alternative a value becomes is looked up. The variant's own constructor asks for each of them
// whether it might be meant: that was a quarter of the time to compile who makes messages and actions.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>
#include <variant>

namespace charmtree {

template <class T, class Variant>
struct IndexIn;
/// The place of T among the variant's types; their number: it is none of them.
template <class T, class... Ts>
struct IndexIn<T, std::variant<Ts...>> {
  static constexpr std::size_t find() {
    std::size_t index = 0;
    static_cast<void>(((__is_same(T, Ts) || (++index, false)) || ...));
    return index;
  }
  static constexpr std::size_t value = find();
};

/// For the variant's constructor.
template <class T, class Variant>
inline constexpr std::in_place_index_t<IndexIn<std::remove_cvref_t<T>, Variant>::value> kPlaceOf{};

template <class T, class Variant>
concept OneOf = (IndexIn<std::remove_cvref_t<T>, Variant>::value < std::variant_size_v<Variant>);

}  // namespace charmtree
