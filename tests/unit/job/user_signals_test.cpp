// SPDX-License-Identifier: Apache-2.0
#include "tree/job/user_signals.hpp"

#include <catch2/catch.hpp>

#include "tree/base/signals.hpp"

namespace charmtree::user_signals_test {

using namespace charmtree::proto;
using When = UserSignals::Stage;

namespace {
constexpr Instant kNow{50s};
}

TEST_CASE("an interrupt ends the job, the second one within a moment at once", "[signals]") {
  UserSignals signals{true};
  auto meaning = signals.on(signals::kInterrupt, When::runs, kNow);
  CHECK(meaning.interrupts == 1);
  CHECK(meaning.shows_status);
  CHECK_FALSE(meaning.forward);
  meaning = signals.on(signals::kInterrupt, When::runs, kNow + UserSignals::kMoment);
  CHECK(meaning.interrupts == 2);
  CHECK_FALSE(meaning.shows_status);
}

TEST_CASE("where interrupts are the program's it gets them, but two within a moment", "[signals]") {
  UserSignals signals{false};
  CHECK(signals.on(signals::kInterrupt, When::runs, kNow).forward);
  const Instant later = kNow + UserSignals::kMoment + 1ms;
  const auto second = signals.on(signals::kInterrupt, When::runs, later);
  CHECK(second.forward);
  CHECK(second.interrupts == 0);
  const auto third = signals.on(signals::kInterrupt, When::runs, later + 1ms);
  CHECK_FALSE(third.forward);
  CHECK(third.interrupts == 2);
}

TEST_CASE("an interrupt of what does not run is one of the job", "[signals]") {
  const When stage = GENERATE(When::starts, When::ends);
  UserSignals signals{false};
  const auto meaning = signals.on(signals::kInterrupt, stage, kNow);
  CHECK(meaning.interrupts == 1);
  CHECK_FALSE(meaning.forward);
  CHECK_FALSE(meaning.shows_status);
}

TEST_CASE("the program's own signals wait for nothing: before it runs they are lost", "[signals]") {
  UserSignals signals{true};
  const int signal = GENERATE(signals::kUser1, signals::kUser2);
  CHECK(signals.on(signal, When::starts, kNow).too_early);
  CHECK_FALSE(signals.on(signal, When::starts, kNow).forward);
  CHECK(signals.on(signal, When::ends, kNow).forward);
  CHECK_FALSE(UserSignals::ends(signal));
}

TEST_CASE("which signals end a job", "[signals]") {
  for (const int signal : {signals::kInterrupt, signals::kTerminate, signals::kHangup})
    CHECK(UserSignals::ends(signal));
  for (const int signal : {signals::kQuit, signals::kTerminalStop, signals::kContinue})
    CHECK_FALSE(UserSignals::ends(signal));
}

TEST_CASE("a job is suspended when it can be, and goes on when the user wants it", "[signals]") {
  UserSignals signals{true};
  signals.on(signals::kTerminalStop, When::starts, kNow);
  CHECK_FALSE(signals.turn(false, false));
  CHECK(signals.turn(false, true) == true);
  CHECK(signals.suspended());
  CHECK_FALSE(signals.turn(false, true));
  UserSignals next{true};
  next.take_over(signals);
  CHECK(next.suspended());
  signals.on(signals::kContinue, When::runs, kNow);
  CHECK(signals.turn(false, true) == false);
}

TEST_CASE("the end of a job lifts its suspension", "[signals]") {
  UserSignals signals{true};
  signals.on(signals::kTerminalStop, When::runs, kNow);
  CHECK(signals.turn(false, true) == true);
  CHECK_FALSE(signals.turn(true, true));  // what ends it says so itself
  CHECK_FALSE(signals.suspended());
  CHECK_FALSE(signals.turn(false, true));
}

}  // namespace charmtree::user_signals_test
