// SPDX-License-Identifier: Apache-2.0
#include "tree/job/testimony.hpp"

#include <catch2/catch.hpp>

namespace charmtree::testimony_test {

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

TEST_CASE("what is told twice is passed on once", "[testimony]") {
  Testimony testimony;
  wire::Facts first = ends({{0, 3}, {8, 8}}, {5});
  testimony.sift(first);
  CHECK(first.who_ended == std::vector<wire::ProcessSet::Range>{{0, 3}, {8, 8}});
  CHECK(first.exits.size() == 1);
  wire::Facts second = ends({{2, 4}, {8, 8}}, {5, 6});
  testimony.sift(second);
  CHECK(second.who_ended == std::vector<wire::ProcessSet::Range>{{4, 4}});
  REQUIRE(second.exits.size() == 1);
  CHECK(second.exits[0].process == 6);
}

TEST_CASE("a new parent is told all of it, without counts", "[testimony]") {
  Testimony testimony;
  wire::Facts first = ends({{0, 1}}, {5}), second = ends({{2, 2}}, {});
  first.ended = 2;
  first.first_ok = 1;
  second.first_ok = 0;
  second.code = wire::Code{2, 7};
  testimony.sift(first);
  testimony.sift(second);
  const wire::Facts all = testimony.facts();
  CHECK(all.who_ended == std::vector<wire::ProcessSet::Range>{{0, 2}});
  CHECK(all.exits.size() == 1);
  CHECK(all.first_ok == 0U);
  CHECK(all.code == wire::Code{2, 7});
  CHECK(all.ended == 0);
}

TEST_CASE("losses are told again until everybody knows of them", "[testimony]") {
  Testimony testimony;
  testimony.note(lost(2, {{4, 5}}));
  testimony.note(lost(3, {{6, 7}}));
  testimony.note(lost(9, {}));
  testimony.note(wire::AbortUp{1, 7, "why"});
  testimony.note(wire::Note{1, "said once"});
  CHECK(testimony.messages().size() == 3);
  wire::ProcessSet known;
  known.add({4, 6});
  testimony.forget_lost(known);
  REQUIRE(testimony.messages().size() == 2);
  CHECK(std::get<wire::LinkLost>(testimony.messages()[0]).host == 3);
  CHECK(std::holds_alternative<wire::AbortUp>(testimony.messages()[1]));
}

}  // namespace charmtree::testimony_test
