// SPDX-License-Identifier: Apache-2.0
// The launcher's way up: its parent, as a state with one table of transitions. The root has none; its way up
// is its desk. All times are real ones.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "tree/proto/turn.hpp"

namespace charmtree::proto {

class Parent {
public:
  enum class State : std::uint8_t {
    none,     // of the root
    unheard,  // its first word has not come
    here,
    awaited,  // it is gone, and another one may come
    gone,
  };
  /// From, to, and what has happened.
  struct Transition {
    State from, to;
    const char* event;
  };
  static constexpr std::array kTransitions{
      Transition{State::unheard, State::here, "its first word has come"},
      Transition{State::unheard, State::gone, "its link has ended, or no word has come in time"},
      Transition{State::here, State::here, "another one has adopted us"},
      Transition{State::here, State::awaited, "its link has ended"},
      Transition{State::here, State::gone, "its link has ended, and nobody may adopt us"},
      Transition{State::awaited, State::here, "another one has adopted us"},
      Transition{State::awaited, State::gone, "nobody has come in time"},
  };
  static constexpr bool may_become(State from, State to) {
    return std::any_of(kTransitions.begin(), kTransitions.end(),
                       [=](const Transition& each) { return each.from == from && each.to == to; });
  }

  /// The root's.
  Parent() = default;
  /// Nobody watches a launcher that knows of no job yet: it ends by itself where no word has come within
  /// `first_word`. Nothing: it waits without limit.
  explicit Parent(std::optional<Duration> first_word) : state_(State::unheard), first_word_(first_word) {}

  State state() const { return state_; }
  bool is_gone() const { return state_ == State::awaited || state_ == State::gone; }
  WayUp way_up() const;

  /// Its first word; or another one's, who has adopted us.
  void arrived();
  /// Another one may come until then.
  void lost(Instant hold_until);
  /// None will.
  void lost();

  /// Nobody has come in time: as lost(). False: somebody may still come.
  bool is_late(Instant now);
  /// It has had its time for a first word, which begins with the first call.
  bool is_silent(Instant now);
  Instant next_deadline() const { return earlier(hold_until_, first_word_by_); }

private:
  /// What the table does not hold is not done: of a parent that is gone for good, nothing more is expected.
  void become(State to) {
    if (may_become(state_, to)) state_ = to;
  }

  State state_ = State::none;
  std::optional<Duration> first_word_;
  Instant first_word_by_ = kNever;
  Instant hold_until_ = kNever;  // state awaited
};

}  // namespace charmtree::proto
