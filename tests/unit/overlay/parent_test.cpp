// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/parent.hpp"

#include <array>
#include <catch2/catch.hpp>

namespace charmtree::parent_test {

using namespace charmtree::proto;
using State = Parent::State;

namespace {
constexpr std::array kStates{State::none, State::unheard, State::here, State::awaited, State::gone};
constexpr Instant kNow{100s};

/// A parent in that state.
Parent in(State state) {
  if (state == State::none) return Parent{};
  Parent parent{std::optional<Duration>{2min}};
  if (state != State::unheard) parent.arrived();
  if (state == State::awaited) parent.lost(kNow + 3s);
  if (state == State::gone) parent.give_up();
  REQUIRE(parent.state() == state);
  return parent;
}
}  // namespace

TEST_CASE("a parent's state follows from events as its table says, and in no other way", "[parent]") {
  for (const State from : kStates) {
    Parent arrived = in(from), lost = in(from), given_up = in(from);
    arrived.arrived();
    lost.lost(kNow + 3s);
    given_up.give_up();
    CAPTURE(static_cast<int>(from));
    CHECK(arrived.state() == Parent::next(from, Parent::Event::arrived).value_or(from));
    CHECK(lost.state() == Parent::next(from, Parent::Event::lost).value_or(from));
    CHECK(given_up.state() == Parent::next(from, Parent::Event::given_up).value_or(from));
  }
  for (const Parent::Event event : {Parent::Event::arrived, Parent::Event::lost, Parent::Event::given_up}) {
    CHECK_FALSE(Parent::next(State::gone, event));  // it stays so
    CHECK_FALSE(Parent::next(State::none, event));
  }
}

TEST_CASE("the way up is open until the parent is gone, and closed for good when nobody came", "[parent]") {
  CHECK(in(State::none).way_up() == WayUp::open);
  CHECK(in(State::unheard).way_up() == WayUp::open);
  CHECK(in(State::here).way_up() == WayUp::open);
  Parent parent = in(State::awaited);
  CHECK(parent.way_up() == WayUp::awaited);
  CHECK(parent.next_deadline() == kNow + 3s);
  CHECK_FALSE(parent.is_late(kNow + 2999ms));
  CHECK(parent.is_late(kNow + 3s));
  CHECK(parent.way_up() == WayUp::gone);
  CHECK(parent.next_deadline() == kNever);
  CHECK_FALSE(parent.is_late(kNow + 1h));
}

TEST_CASE("a second loss does not make the wait longer", "[parent]") {
  Parent parent = in(State::awaited);
  parent.lost(kNow + 1h);
  CHECK(parent.next_deadline() == kNow + 3s);
}

TEST_CASE("who adopts us ends the wait, and may be lost in its turn", "[parent]") {
  Parent parent = in(State::awaited);
  parent.arrived();
  CHECK(parent.way_up() == WayUp::open);
  CHECK(parent.next_deadline() == kNever);
  parent.lost(kNow + 9s);
  CHECK(parent.next_deadline() == kNow + 9s);
}

TEST_CASE("the first word has its time from the first event on, unless there is no limit", "[parent]") {
  Parent parent = in(State::unheard);
  CHECK(parent.next_deadline() == kNever);
  CHECK_FALSE(parent.is_silent(kNow));
  CHECK(parent.next_deadline() == kNow + 2min);
  CHECK_FALSE(parent.is_silent(kNow + 119s));
  CHECK(parent.is_silent(kNow + 120s));
  parent.arrived();
  CHECK_FALSE(parent.is_silent(kNow + 1h));

  Parent patient{std::nullopt};
  CHECK_FALSE(patient.is_silent(kNow));
  CHECK_FALSE(patient.is_silent(kNow + 24h));
  CHECK_FALSE(in(State::none).is_silent(kNow));
}

}  // namespace charmtree::parent_test
