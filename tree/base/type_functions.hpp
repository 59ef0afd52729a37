// SPDX-License-Identifier: Apache-2.0
// How the types of an AnyOf are copied, moved and destroyed: for the one file that says
// `template struct FunctionsOf<Any>;`.
#pragma once

#include <array>
#include <new>
#include <type_traits>
#include <utility>

#include "tree/base/one_of.hpp"

namespace charmtree {

template <class T>
struct TypeFunctionsOf {
  static_assert(std::is_nothrow_move_constructible_v<T>);
  static void copy(void* to, const void* from) { new (to) T(*static_cast<const T*>(from)); }
  static void move(void* to, void* from) noexcept { new (to) T(std::move(*static_cast<T*>(from))); }
  static void destroy(void* value) noexcept { static_cast<T*>(value)->~T(); }
};

template <class... Ts>
constexpr std::array<TypeFunctions, sizeof...(Ts)> functions_of(std::type_identity<AnyOf<Ts...>>) {
  return {
      TypeFunctions{TypeFunctionsOf<Ts>::copy, TypeFunctionsOf<Ts>::move, TypeFunctionsOf<Ts>::destroy}...};
}

template <class Any>
constinit const std::array<TypeFunctions, Any::kTypes> FunctionsOf<Any>::kAll =
    functions_of(std::type_identity<Any>{});

}  // namespace charmtree
