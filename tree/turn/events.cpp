// SPDX-License-Identifier: Apache-2.0
#include "tree/turn/events.hpp"

namespace charmtree::proto {

Event::Event() : AnyEvent(std::in_place_type<Tick>) {}
void Event::put(std::size_t index, void* value) {
  put_into(*this, index, value);
}
Event::Event(const Event& other) = default;
Event::Event(Event&& other) noexcept = default;
Event& Event::operator=(const Event& other) = default;
Event& Event::operator=(Event&& other) noexcept = default;
Event::~Event() = default;

Action::Action() : AnyAction(std::in_place_type<StopSelf>) {}
void Action::put(std::size_t index, void* value) {
  put_into(*this, index, value);
}
Action::Action(const Action& other) = default;
Action::Action(Action&& other) noexcept = default;
Action& Action::operator=(const Action& other) = default;
Action& Action::operator=(Action&& other) noexcept = default;
Action::~Action() = default;

}  // namespace charmtree::proto
