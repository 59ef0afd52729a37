// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/child.hpp"

#include <catch2/catch.hpp>
#include <vector>

namespace charmtree::child_test {

using namespace charmtree::proto;

namespace {

using State = Child::State;
using Event = Child::Event;

constexpr std::array kStates = {State::waiting, State::logging_in, State::up, State::done, State::lost};
constexpr std::array kEvents = {Event::login_begun, Event::put_off, Event::logged_in, Event::done,
                                Event::lost};
constexpr Instant kNow{100s};

void tell(Child& child, Event event) {
  switch (event) {
    case Event::login_begun:
      return child.login_begun(wire::kRootIndex, 1, kNow);
    case Event::put_off:
      return child.put_off();
    case Event::logged_in:
      return child.logged_in();
    case Event::done:
      return child.done();
    case Event::lost:
      return child.lost();
  }
}

Child child_in(State state) {
  Child child;
  if (state == State::waiting) return child;
  child.login_begun(wire::kRootIndex, 1, kNow);
  if (state == State::logging_in) return child;
  child.logged_in();
  if (state == State::done) child.done();
  if (state == State::lost) child.lost();
  return child;
}

}  // namespace

TEST_CASE("a child's state follows from each event as the table says, or stays", "[child]") {
  using enum Child::State;
  constexpr std::optional<State> same;
  // clang-format off
  constexpr std::array<std::array<std::optional<State>, 5>, 5> kAfter = {{
      // login_begun  put_off  logged_in  done  lost
      {logging_in,    same,    same,      same, lost},  // waiting
      {same,          waiting, up,        same, lost},  // logging_in
      {same,          same,    same,      done, lost},  // up
      {same,          same,    same,      same, same},  // done
      {same,          same,    same,      same, same},  // lost
  }};
  // clang-format on
  std::size_t changes = 0;
  for (std::size_t i = 0; i < kStates.size(); ++i) {
    for (std::size_t j = 0; j < kEvents.size(); ++j) {
      const State from = kStates[i];
      Child child = child_in(from);
      REQUIRE(child.state() == from);
      tell(child, kEvents[j]);
      CAPTURE(i, j);
      CHECK(child.state() == kAfter[i][j].value_or(from));
      CHECK(Child::next(from, kEvents[j]) == kAfter[i][j]);
      changes += kAfter[i][j] ? 1 : 0;
    }
  }
  CHECK(changes == Child::kTransitions.size());
}

TEST_CASE("whoever is done or lost stays so, whatever comes later", "[child]") {
  for (const Child::Transition& each : Child::kTransitions) {
    CHECK(each.from != State::done);
    CHECK(each.from != State::lost);
    CHECK(each.from != each.to);
  }
}

TEST_CASE("a child is waited for while it is up, and a visit from its first try on", "[child]") {
  for (const State state : kStates) {
    Child child = child_in(state);
    const bool begins = state == State::waiting || state == State::logging_in;
    CHECK(child.begins() == begins);
    CHECK(child.open() == (state == State::up));
    CHECK(child.serves() == (state == State::up));
    CHECK_FALSE(child.stays());
    child.idle = true;
    CHECK(child.stays() == (state == State::up));
    for (const Child::Purpose purpose : {Child::Purpose::sweep, Child::Purpose::adopt}) {
      Child visitor = child_in(state);
      visitor.purpose = purpose;
      CHECK(visitor.visits());
      CHECK(visitor.sweeps() != visitor.adopts());
      CHECK(visitor.open() == (begins || state == State::up));
      CHECK_FALSE(visitor.serves());
    }
  }
}

TEST_CASE("each login that begins is counted, and stamped anew", "[child]") {
  Child child;
  child.host.index = 7;
  child.login_begun(3, 2, kNow);
  child.login_begun(3, 2, kNow + 1s);  // it has begun
  CHECK(child.attempts == 1);
  CHECK(child.first_tried == kNow);
  child.put_off();
  child.login_begun(3, 2, kNow + 2s);
  CHECK(child.attempts == 2);
  CHECK(child.first_tried == kNow);
  CHECK(child.stamps.host == 7);
  CHECK(child.stamps.parent == 3);
  CHECK(child.stamps.level == 2);
  CHECK(child.stamps.attempts == 2);
  CHECK(child.stamps.times[wire::Stamps::begun] == kNow + 2s);
  CHECK(child.stamps.times[wire::Stamps::hello] == kNever);
}

TEST_CASE("how a login went is stamped when the launcher is welcomed", "[child]") {
  Child child = child_in(State::up);
  LoginTimes times;
  times.connected = kNow + 1s;
  child.welcome(times, kNow + 2s);
  CHECK(child.welcomed == kNow + 2s);
  CHECK(child.stamps.times[wire::Stamps::begun] == kNow);  // as we saw it
  CHECK(child.stamps.times[wire::Stamps::connected] == kNow + 1s);
  CHECK(child.stamps.times[wire::Stamps::executed] == kNever);
  CHECK(child.stamps.times[wire::Stamps::hello] == kNow + 2s);
  times.begun = kNow - 1s;  // by who has logged in
  child.welcome(times, kNow + 2s);
  CHECK(child.stamps.times[wire::Stamps::begun] == kNow - 1s);
}

TEST_CASE("by another transport a host is tried from the beginning, but in the same time", "[child]") {
  Child child = child_in(State::logging_in);
  child.host.index = 7;
  child.purpose = Child::Purpose::adopt;
  child.insistence = 5s;
  child.retries = 3;
  child.turned_away = 2;
  CHECK(child.tries() == 6);
  const Child again = child.by(Via::command);
  CHECK(again.state() == State::waiting);
  CHECK(again.via == Via::command);
  CHECK(again.host.index == 7);
  CHECK(again.adopts());
  CHECK(again.insistence == 5s);
  CHECK(again.attempts == 1);
  CHECK(again.first_tried == kNow);
  CHECK(again.tries() == 1);
}

TEST_CASE("the clocks of parent and child are joined by the hello", "[child]") {
  Child child = child_in(State::up);
  child.welcomed = kNow;
  CHECK(child.in_our_clock(Instant{-7s}) == Instant{-7s});  // not known yet
  child.hello(Instant{-7s}, kNow + 10ms);
  CHECK(child.in_our_clock(Instant{-7s}) == kNow + 5ms);
  child.hello(Instant{50s}, kNow + 1s);  // only the first counts
  CHECK(child.in_our_clock(Instant{-7s}) == kNow + 5ms);
  CHECK(child.in_our_clock(kNever) == kNever);
  CHECK(child.in_our_clock(wire::kFarthest) == kNever);
}

TEST_CASE("what a child has told of its processes is forgotten with their numbers, and with the run",
          "[child]") {
  Child child = child_in(State::up);
  const auto told = [&] { child.registered = child.finished = child.crash_acks = 3, child.queue_pairs = 3; };
  told();
  child.forget_processes();
  CHECK((child.registered == 0 && child.finished == 0 && child.queue_pairs == 0 && child.crash_acks == 3));
  told();
  child.idle = true;
  child.begin_run();
  CHECK((child.registered == 0 && child.finished == 0 && child.queue_pairs == 0 && child.crash_acks == 0));
  CHECK_FALSE(child.idle);
}

}  // namespace charmtree::child_test
