// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/parent.hpp"

namespace charmtree::proto {

bool Parent::on(Event event) {
  const auto to = next(state_, event);
  if (!to) return false;
  state_ = *to;
  first_word_by_ = hold_until_ = kNever;
  return true;
}

WayUp Parent::way_up() const {
  if (state_ == State::awaited) return WayUp::awaited;
  return state_ == State::gone ? WayUp::gone : WayUp::open;
}

void Parent::arrived() {
  on(Event::arrived);
}

void Parent::lost(Instant hold_until) {
  if (on(Event::lost)) hold_until_ = hold_until;
}

void Parent::give_up() {
  on(Event::given_up);
}

bool Parent::is_late(Instant now) {
  if (now < hold_until_) return false;
  give_up();
  return true;
}

bool Parent::is_silent(Instant now) {
  if (state_ != State::unheard || !first_word_) return false;
  if (first_word_by_ == kNever) first_word_by_ = now + *first_word_;
  return now >= first_word_by_;
}

}  // namespace charmtree::proto
