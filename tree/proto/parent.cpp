// SPDX-License-Identifier: Apache-2.0
#include "tree/proto/parent.hpp"

namespace charmtree::proto {

WayUp Parent::way_up() const {
  if (state_ == State::awaited) return WayUp::awaited;
  return state_ == State::gone ? WayUp::gone : WayUp::open;
}

void Parent::arrived() {
  become(State::here);
  first_word_by_ = hold_until_ = kNever;
}

void Parent::lost(Instant hold_until) {
  become(State::awaited);
  if (state_ == State::awaited && hold_until_ == kNever) hold_until_ = hold_until;
}

void Parent::lost() {
  become(State::gone);
  first_word_by_ = hold_until_ = kNever;
}

bool Parent::is_late(Instant now) {
  if (now < hold_until_) return false;
  lost();
  return true;
}

bool Parent::is_silent(Instant now) {
  if (state_ != State::unheard || !first_word_) return false;
  if (first_word_by_ == kNever) first_word_by_ = now + *first_word_;
  return now >= first_word_by_;
}

}  // namespace charmtree::proto
