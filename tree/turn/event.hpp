// SPDX-License-Identifier: Apache-2.0
// An event tells the pure core what happened; an action orders the shell to do something. A struct that says
// `using Family = Event;` is an event, one that says `using Family = Action;` an action.
#pragma once

#include <type_traits>
#include <utility>
#include <vector>

#include "tree/base/any_value.hpp"
#include "tree/base/handle.hpp"

namespace charmtree::proto {

class Event : public AnyValue<Event, ValueType, 352> {
public:
  template <class E>
  requires std::is_same_v<typename E::Family, Event> Event(E event)  // NOLINT(google-explicit-constructor)
      : AnyValue(kValueType<E>, std::move(event)) {}
  template <class E>
  static constexpr const ValueType& type_of() {
    static_assert(std::is_same_v<typename E::Family, Event>);
    return kValueType<E>;
  }
};

class Action : public AnyValue<Action, ValueType, 704> {
public:
  template <class A>
  requires std::is_same_v<typename A::Family, Action> Action(A action)  // NOLINT(google-explicit-constructor)
      : AnyValue(kValueType<A>, std::move(action)) {}
  template <class A>
  static constexpr const ValueType& type_of() {
    static_assert(std::is_same_v<typename A::Family, Action>);
    return kValueType<A>;
  }
};
using Actions = std::vector<Action>;

}  // namespace charmtree::proto
