// SPDX-License-Identifier: Apache-2.0
// Lists of types.
#pragma once

namespace charmtree {

template <class... Ts>
struct TypeList {};

template <class... Lists>
struct Joined;
template <class... Ts>
struct Joined<TypeList<Ts...>> {
  using List = TypeList<Ts...>;
};
template <class... As, class... Bs, class... Lists>
struct Joined<TypeList<As...>, TypeList<Bs...>, Lists...> : Joined<TypeList<As..., Bs...>, Lists...> {};
/// The types of several lists, in their order.
template <class... Lists>
using JoinedLists = typename Joined<Lists...>::List;

/// How often T stands in these lists.
template <class T, class... Lists>
inline constexpr int kCount = 0;
template <class T, class... Ts, class... Lists>
inline constexpr int kCount<T, TypeList<Ts...>, Lists...> =
    (0 + ... + (__is_same(T, Ts) ? 1 : 0)) + kCount<T, Lists...>;

}  // namespace charmtree
