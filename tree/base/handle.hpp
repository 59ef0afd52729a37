// SPDX-License-Identifier: Apache-2.0
// Calls one of several handlers by the type of a value (AnyValue). A handler is a lambda with one parameter,
// of the type that it handles; each_of makes one for several types.
#pragma once

#include <type_traits>
#include <utility>

#include "tree/base/any_value.hpp"
#include "tree/base/type_list.hpp"

namespace charmtree {

template <class F>
struct HandledBy : HandledBy<decltype(&F::operator())> {};
template <class R, class F, class T>
struct HandledBy<R (F::*)(T) const> {
  using List = TypeList<std::remove_cvref_t<T>>;
};

template <class F, class... Ts>
struct HandlerOfEach {
  F act;
};
template <class F, class... Ts>
struct HandledBy<HandlerOfEach<F, Ts...>> {
  using List = TypeList<Ts...>;
};
/// Makes a handler for all types of a list of a lambda that accepts each of them.
template <class... Ts, class F>
HandlerOfEach<F, Ts...> each_of(TypeList<Ts...>, F act) {
  return {std::move(act)};
}
template <class... Ts, class F>
HandlerOfEach<F, Ts...> each_of(F act) {
  return {std::move(act)};
}

template <class T, class F, class Value>
bool try_type(const F& act, Value& value) {
  if (!value.template is<T>()) return false;
  if constexpr (std::is_void_v<decltype(act(value.template as<T>()))>)
    return act(value.template as<T>()), true;
  else
    return act(value.template as<T>());
}
template <class F, class Value, class... Ts>
bool try_handler(const F& handler, Value& value, TypeList<Ts...>) {
  if constexpr (requires { handler.act; })
    return (try_type<Ts>(handler.act, value) || ...);
  else
    return (try_type<Ts>(handler, value) || ...);
}

/// Calls the handler of the value's type. Returns false if no handler takes it; what the handler returns, if
/// that is a bool; else true.
template <IsAnyValue Value, class... Handlers>
bool handle(Value& value, const Handlers&... handlers) {
  return (try_handler(handlers, value, typename HandledBy<Handlers>::List{}) || ...);
}

/// Calls f(value) with the value as the type of the list that it has. Returns what f returns; a default if
/// the value has no type of the list.
template <class First, class... Ts, class F, IsAnyValue Value>
auto dispatch(TypeList<First, Ts...>, F&& f, Value& value) {
  using R = decltype(f(value.template as<First>()));
  if constexpr (std::is_void_v<R>) {
    handle(value, each_of<First, Ts...>([&](auto& each) { f(each); }));
  } else {
    R result{};
    handle(value, each_of<First, Ts...>([&](auto& each) { result = f(each); }));
    return result;
  }
}

}  // namespace charmtree
