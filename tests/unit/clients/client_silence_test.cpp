// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/client_silence.hpp"

#include <catch2/catch.hpp>

#include "health/silences.hpp"

namespace charmtree::client_silence_test {

using namespace charmtree::proto;
using State = wire::Silence::State;

namespace {

constexpr Duration kPatience = 60s;
constexpr Instant at(Duration time) {
  return Instant{time};
}

}  // namespace

TEST_CASE("a silence is looked at when patience is over, told once, and so is its end", "[silence]") {
  ClientSilence silence;
  CHECK_FALSE(silence.heard(at(10s)));
  CHECK(silence.due(kPatience) == at(70s));
  CHECK(silence.look(at(70s), true));
  CHECK(silence.due(kPatience) == kNever);  // until it is answered
  CHECK(silence.seen(Sight::running, at(70s)) == State::hung);
  CHECK(silence.lasted(at(70s)) == 60s);
  CHECK(silence.due(kPatience) == kNever);
  CHECK(silence.heard(at(85s)) == 75s);
  CHECK_FALSE(silence.heard(at(86s)));
}

TEST_CASE("who has come back by himself is given twice as long", "[silence]") {
  ClientSilence silence;
  silence.heard(at(0s));
  silence.look(at(60s), true);
  silence.seen(Sight::running, at(60s));
  silence.heard(at(100s));
  CHECK(silence.due(kPatience) == at(300s));
  CHECK(silence.due(500s) == at(600s));
}

TEST_CASE("who waits for us, or did until now, is not silent", "[silence]") {
  ClientSilence silence;
  silence.heard(at(0s));
  CHECK_FALSE(silence.look(at(60s), false));
  CHECK(silence.due(kPatience) == at(120s));
  silence.answered();
  CHECK(silence.due(kPatience) <= at(100s));
  CHECK_FALSE(silence.look(at(100s), true));
  CHECK(silence.look(at(160s), true));
  CHECK(silence.seen(Sight::running, at(160s)) == State::hung);
  CHECK(silence.lasted(at(160s)) == 60s);
}

TEST_CASE("what we have not read, and who is debugged, is not silent", "[silence]") {
  for (const Sight sight : {Sight::unread, Sight::traced}) {
    ClientSilence silence;
    silence.heard(at(0s));
    REQUIRE(silence.look(at(60s), true));
    CHECK_FALSE(silence.seen(sight, at(61s)));
    CHECK(silence.due(kPatience) == at(121s));
    REQUIRE(silence.look(at(121s), true));
    CHECK(silence.seen(Sight::running, at(121s)) == State::hung);
    CHECK(silence.lasted(at(121s)) == 60s);
  }
}

TEST_CASE("who is stopped is told once, and gets time when he goes on", "[silence]") {
  ClientSilence silence;
  silence.heard(at(0s));
  REQUIRE(silence.look(at(60s), true));
  CHECK(silence.seen(Sight::stopped, at(60s)) == State::stopped);
  REQUIRE(silence.look(at(120s), true));
  CHECK_FALSE(silence.seen(Sight::stopped, at(120s)));
  REQUIRE(silence.look(at(180s), true));
  CHECK_FALSE(silence.seen(Sight::running, at(180s)));  // perhaps since a moment ago
  REQUIRE(silence.look(at(240s), true));
  CHECK(silence.seen(Sight::running, at(240s)) == State::hung);
  CHECK(silence.heard(at(250s)) == 250s);
}

TEST_CASE("a sight that comes too late says nothing", "[silence]") {
  ClientSilence silence;
  silence.heard(at(0s));
  REQUIRE(silence.look(at(60s), true));
  silence.heard(at(60s));
  CHECK_FALSE(silence.seen(Sight::running, at(61s)));
}

TEST_CASE("silences of about the same time are told together", "[silence]") {
  Silences silences;
  silences.on({3, State::hung, 61s}, at(0s));
  silences.on({5, State::hung, 60s}, at(100ms));
  silences.on({7, State::stopped, 60s}, at(200ms));
  CHECK(silences.take(at(400ms)).empty());
  CHECK(silences.next_deadline() == at(500ms));
  const auto news = silences.take(at(500ms));
  REQUIRE(news.size() == 2);
  CHECK((news[0].state == State::hung && news[0].processes == std::vector<std::uint32_t>{3, 5}));
  CHECK(news[0].least == 60s);
  CHECK((news[1].state == State::stopped && news[1].processes == std::vector<std::uint32_t>{7}));
  CHECK(silences.next_deadline() == kNever);
  CHECK(silences.silent().print() == "3,5,7");

  silences.on({5, State::over, 70s}, at(10s));
  silences.gone({6, 9});
  CHECK(silences.count() == 1);
  const auto over = silences.take(at(11s));
  REQUIRE(over.size() == 1);
  CHECK((over[0].state == State::over && over[0].processes == std::vector<std::uint32_t>{5}));
}

TEST_CASE("who speaks again before it was told is told not at all", "[silence]") {
  Silences silences;
  silences.on({3, State::hung, 61s}, at(0s));
  silences.on({3, State::over, 61s}, at(100ms));
  CHECK(silences.take(at(1s)).empty());
  CHECK(silences.count() == 0);
}

}  // namespace charmtree::client_silence_test
