// SPDX-License-Identifier: Apache-2.0
// Calls one of several handlers by the type of a message. A handler is a lambda with one parameter, the
// message that it handles; each_of makes one for several types.
#pragma once

#include <type_traits>
#include <utility>

#include "tree/wire/message.hpp"

namespace charmtree::wire {

template <class F>
struct HandledBy : HandledBy<decltype(&F::operator())> {};
template <class R, class F, class M>
struct HandledBy<R (F::*)(M) const> {
  using List = MessageList<std::remove_cvref_t<M>>;
};

template <class F, IsMessage... Ms>
struct HandlerOfEach {
  F act;
};
template <class F, IsMessage... Ms>
struct HandledBy<HandlerOfEach<F, Ms...>> {
  using List = MessageList<Ms...>;
};
/// Makes a handler for all messages of a list of a lambda that accepts each of them.
template <IsMessage... Ms, class F>
HandlerOfEach<F, Ms...> each_of(MessageList<Ms...>, F act) {
  return {std::move(act)};
}
template <IsMessage... Ms, class F>
HandlerOfEach<F, Ms...> each_of(F act) {
  return {std::move(act)};
}

/// How many of these lists have the message.
template <class M, class... Lists>
inline constexpr int kCount = 0;
template <class M, IsMessage... Ms, class... Lists>
inline constexpr int kCount<M, MessageList<Ms...>, Lists...> =
    (0 + ... + (__is_same(M, Ms) ? 1 : 0)) + kCount<M, Lists...>;

/// Each message of List that takes this route has exactly one handler.
template <Route kRoute, class List, class... Handlers>
inline constexpr bool kHandlesAll = false;
template <Route kRoute, IsMessage... Ms, class... Handlers>
inline constexpr bool kHandlesAll<kRoute, MessageList<Ms...>, Handlers...> =
    ((Ms::kRoute != kRoute || kCount<Ms, typename HandledBy<Handlers>::List...> == 1) && ...);

template <IsMessage M, class F, class Any>
bool try_to_handle(const F& act, Any& message) {
  if (!message.template is<M>()) return false;
  if constexpr (std::is_void_v<decltype(act(message.template as<M>()))>)
    return act(message.template as<M>()), true;
  else
    return act(message.template as<M>());
}
template <class F, class Any, IsMessage... Ms>
bool try_handler(const F& handler, Any& message, MessageList<Ms...>) {
  if constexpr (requires { handler.act; })
    return (try_to_handle<Ms>(handler.act, message) || ...);
  else
    return (try_to_handle<Ms>(handler, message) || ...);
}

/// Calls the handler of the message's type. Returns false if no handler takes it, or what the handler
/// returns, if that is a bool.
template <class... Handlers>
bool handle(const Message& message, const Handlers&... handlers) {
  return (try_handler(handlers, message, typename HandledBy<Handlers>::List{}) || ...);
}
template <class... Handlers>
bool handle(Message& message, const Handlers&... handlers) {
  return (try_handler(handlers, message, typename HandledBy<Handlers>::List{}) || ...);
}

/// Calls the handler of the message's type, of any message of List that takes one of these routes: one
/// without a handler, or with two, does not compile. Ignores other messages.
template <class List, Route... kRoutes, class Any, class... Handlers>
void handle_each(Any& message, const Handlers&... handlers) {
  static_assert((kHandlesAll<kRoutes, List, Handlers...> && ...));
  handle(message, handlers...);
}

}  // namespace charmtree::wire
