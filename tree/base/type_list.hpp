// SPDX-License-Identifier: Apache-2.0
// Lists of types.
#pragma once

namespace charmtree {

template <class... Ts>
struct TypeList {};

template <class... Lists>
struct JoinedTypes;
template <class... Ts>
struct JoinedTypes<TypeList<Ts...>> {
  using List = TypeList<Ts...>;
};
template <class... As, class... Bs, class... Lists>
struct JoinedTypes<TypeList<As...>, TypeList<Bs...>, Lists...>
    : JoinedTypes<TypeList<As..., Bs...>, Lists...> {};
/// The types of several lists, in their order.
template <class... Lists>
using JoinedLists = typename JoinedTypes<Lists...>::List;

/// How often T stands in these lists.
template <class T, class... Lists>
inline constexpr int kCount = 0;
template <class T, class... Ts, class... Lists>
inline constexpr int kCount<T, TypeList<Ts...>, Lists...> =
    (0 + ... + (__is_same(T, Ts) ? 1 : 0)) + kCount<T, Lists...>;

}  // namespace charmtree
