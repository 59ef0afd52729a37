// SPDX-License-Identifier: Apache-2.0
#include "tree/job/replay_state.hpp"

#include <catch2/catch.hpp>

namespace charmtree::replay_state_test {

using namespace charmtree::proto;

namespace {

wire::Facts ends(std::vector<wire::ProcessSet::Range> ended, std::vector<std::uint32_t> exits) {
  wire::Facts facts;
  facts.who_ended = std::move(ended);
  for (const std::uint32_t process : exits) facts.exits.push_back({.process = process, .code = 3});
  return facts;
}

wire::LinkLost lost(std::uint32_t host, std::vector<wire::ProcessSet::Range> processes) {
  return {host, {Errc::link_lost, Phase::run, "cut"}, std::move(processes)};
}

}  // namespace

TEST_CASE("what is told twice is passed on once", "[replay]") {
  ReplayState replay;
  wire::Facts first = ends({{0, 3}, {8, 8}}, {5});
  replay.sift(first);
  CHECK(first.who_ended == std::vector<wire::ProcessSet::Range>{{0, 3}, {8, 8}});
  CHECK(first.exits.size() == 1);
  wire::Facts second = ends({{2, 4}, {8, 8}}, {5, 6});
  replay.sift(second);
  CHECK(second.who_ended == std::vector<wire::ProcessSet::Range>{{4, 4}});
  REQUIRE(second.exits.size() == 1);
  CHECK(second.exits[0].process == 6);
}

TEST_CASE("a new parent is told all of it, without counts", "[replay]") {
  ReplayState replay;
  wire::Facts first = ends({{0, 1}}, {5}), second = ends({{2, 2}}, {});
  first.ended = 2;
  first.first_ok = 1;
  second.first_ok = 0;
  second.code = wire::Code{2, 7};
  replay.sift(first);
  replay.sift(second);
  const wire::Facts all = replay.facts();
  CHECK(all.who_ended == std::vector<wire::ProcessSet::Range>{{0, 2}});
  CHECK(all.exits.size() == 1);
  CHECK(all.first_ok == 0U);
  CHECK(all.code == wire::Code{2, 7});
  CHECK(all.ended == 0);
}

TEST_CASE("losses are told again until everybody knows of them", "[replay]") {
  ReplayState replay;
  replay.note(lost(2, {{4, 5}}));
  replay.note(lost(3, {{6, 7}}));
  replay.note(lost(9, {}));
  replay.note(wire::AbortUp{1, 7, "why"});
  replay.note(wire::Note{1, "said once"});
  CHECK(replay.messages().size() == 3);
  wire::ProcessSet known;
  known.add({4, 6});
  replay.forget_lost(known);
  REQUIRE(replay.messages().size() == 2);
  CHECK(get<wire::LinkLost>(replay.messages()[0]).host == 3);
  CHECK(holds_alternative<wire::AbortUp>(replay.messages()[1]));
}

TEST_CASE("what processes are called is told again, the newest last", "[replay]") {
  ReplayState replay;
  wire::Facts first, later, again;
  first.process_ids = {{1, 4, {100, 101}}};
  later.process_ids = {{1, 5, {200}}};
  again.process_ids = {{1, 5, {300}}};
  for (wire::Facts* facts : {&first, &later, &again}) replay.sift(*facts);
  CHECK(replay.facts().process_ids == std::vector<wire::ProcessIds>{{1, 4, {100, 101}}, {1, 5, {300}}});
}

}  // namespace charmtree::replay_state_test
