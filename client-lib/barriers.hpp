// SPDX-License-Identifier: Apache-2.0
// This process's barriers: whether it is in one, how many have opened, and the epoch in which they count. A
// process that entered a barrier in another epoch is not in it and has to enter it again.
#pragma once

#include <cstdint>

#include "tree/wire/native_message.hpp"

namespace charmtree::client {

class Barriers {
public:
  /// The epoch that this process was told of last.
  std::uint32_t epoch() const { return epoch_; }
  void heard(std::uint32_t epoch) {
    if (epoch_ != epoch && state_ == State::inside) state_ = State::voided;
    epoch_ = epoch;
  }
  /// So many have opened by now, though this process was not in all of them. Always true.
  bool heard(const wire::native::Missed& missed) {
    opened_ = missed.barriers;
    return true;
  }
  std::uint32_t opened() const { return opened_; }

  /// A barrier is to be entered before it can be waited for.
  bool is_outside() const { return state_ == State::outside; }
  bool is_inside() const { return state_ == State::inside; }
  bool is_voided() const { return state_ == State::voided; }
  bool is_released() const { return state_ == State::released; }
  void enter() { state_ = State::inside; }
  void leave() { state_ = State::outside; }
  /// It opens. False: this process is in none.
  bool heard(const wire::native::BarrierRelease&) {
    if (state_ != State::inside) return false;
    state_ = State::released;
    ++opened_;
    return true;
  }
  /// The barrier of a job of one opens at once.
  void pass() { ++opened_; }

private:
  enum class State { outside, inside, voided, released };

  State state_ = State::outside;
  std::uint32_t opened_ = 0;
  std::uint32_t epoch_ = 0;
};

}  // namespace charmtree::client
