// SPDX-License-Identifier: Apache-2.0
// A variant of many types under a name of its own (wire::Message): what every variant has is compiled once,
// and which alternative a value becomes is looked up. The variant's own constructor asks for each of them
// whether it might be meant, and brings along how each is destroyed, to every file that makes a message
// (tests/bench/results/build.txt).
#pragma once

#include <array>
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

template <class T, class Variant>
void emplace_from(Variant& one, void* value) {
  one.template emplace<T>(std::move(*static_cast<T*>(value)));
}
/// Moves `value`, which is of the alternative of that index, into the variant. To be called in the one file
/// that defines what every variant has.
template <class... Ts>
void put_into(std::variant<Ts...>& one, std::size_t index, void* value) {
  using Put = void (*)(std::variant<Ts...>&, void*);
  static constexpr std::array<Put, sizeof...(Ts)> kPuts{emplace_from<Ts, std::variant<Ts...>>...};
  kPuts.at(index)(one, value);
}

template <class R, class T, class F, class Variant>
R call_with(F& f, Variant& one) {
  return f(*std::get_if<T>(&one));
}

/// f(value), whichever type it has: std::visit of one variant, which takes several times as long to compile
/// where there are many types. Without a value (an exception left none) it throws.
template <class F, class T, class... Ts>
decltype(auto) dispatch(F&& f, std::variant<T, Ts...>& one) {
  using R = decltype(f(std::declval<T&>()));
  using Call = R (*)(F&, std::variant<T, Ts...>&);
  static constexpr std::array<Call, 1 + sizeof...(Ts)> kCalls{call_with<R, T>, call_with<R, Ts>...};
  return kCalls.at(one.index())(f, one);
}
template <class F, class T, class... Ts>
decltype(auto) dispatch(F&& f, const std::variant<T, Ts...>& one) {
  using R = decltype(f(std::declval<const T&>()));
  using Call = R (*)(F&, const std::variant<T, Ts...>&);
  static constexpr std::array<Call, 1 + sizeof...(Ts)> kCalls{call_with<R, T>, call_with<R, Ts>...};
  return kCalls.at(one.index())(f, one);
}

}  // namespace charmtree
