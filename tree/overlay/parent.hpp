// SPDX-License-Identifier: Apache-2.0
// The launcher's way up: its parent, as a state with one table of transitions. The root has none; its way up
// is its controller. All times are real ones.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "tree/turn/turn.hpp"

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
  enum class Event : std::uint8_t {
    arrived,   // its first word has come; or another one's, who has adopted us
    lost,      // its link has ended, and another one may adopt us
    given_up,  // none will: it may not, or has not come in time
  };
  struct Transition {
    State from;
    Event event;
    State to;
  };
  static constexpr std::array<Transition, 7> kTransitions = {{
      {State::unheard, Event::arrived, State::here},
      {State::unheard, Event::given_up, State::gone},
      {State::here, Event::arrived, State::here},
      {State::here, Event::lost, State::awaited},
      {State::here, Event::given_up, State::gone},
      {State::awaited, Event::arrived, State::here},
      {State::awaited, Event::given_up, State::gone},
  }};
  /// The state after `event`; nothing if that changes nothing: of a parent that is gone for good, nothing
  /// more is expected, and the root has none.
  static constexpr std::optional<State> next(State from, Event event) {
    const auto* const found =
        std::find_if(kTransitions.begin(), kTransitions.end(),
                     [=](const Transition& each) { return each.from == from && each.event == event; });
    return found == kTransitions.end() ? std::nullopt : std::optional{found->to};
  }

  /// The root's.
  Parent() = default;
  /// Nobody watches a launcher that knows of no job yet: it ends by itself where no word has come within
  /// `first_word`. Nothing: it waits without limit.
  explicit Parent(std::optional<Duration> first_word) : state_(State::unheard), first_word_(first_word) {}

  State state() const { return state_; }
  bool is_gone() const { return state_ == State::awaited || state_ == State::gone; }
  WayUp way_up() const;

  void arrived();
  /// Another one may come until then; the first such time holds.
  void lost(Instant hold_until);
  void give_up();

  /// Nobody has come in time: as give_up(). False: somebody may still come.
  bool is_late(Instant now);
  /// It has had its time for a first word, which begins with the first call.
  bool is_silent(Instant now);
  Instant next_deadline() const { return earlier(hold_until_, first_word_by_); }

private:
  /// False: nothing is changed by it.
  bool on(Event event);

  State state_ = State::none;
  std::optional<Duration> first_word_;
  Instant first_word_by_ = kNever;
  Instant hold_until_ = kNever;  // state awaited
};

}  // namespace charmtree::proto
