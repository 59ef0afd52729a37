// SPDX-License-Identifier: Apache-2.0
// Handles every message of a list by its type (tree/base/handle.hpp).
#pragma once

#include "tree/base/handle.hpp"
#include "tree/wire/message.hpp"

namespace charmtree::wire {

/// Each message of List that takes this route has exactly one handler.
template <Route kRoute, class List, class... Handlers>
inline constexpr bool kHandlesRoute = false;
template <Route kRoute, IsMessage... Ms, class... Handlers>
inline constexpr bool kHandlesRoute<kRoute, MessageList<Ms...>, Handlers...> =
    ((Ms::kRoute != kRoute || kCount<Ms, typename HandledBy<Handlers>::List...> == 1) && ...);

/// Calls the handler of the message's type, of any message of List that takes one of these routes: one
/// without a handler, or with two, does not compile. Ignores other messages.
template <class List, Route... kRoutes, class Any, class... Handlers>
void handle_each(Any& message, const Handlers&... handlers) {
  static_assert((kHandlesRoute<kRoutes, List, Handlers...> && ...));
  handle(message, handlers...);
}

}  // namespace charmtree::wire
