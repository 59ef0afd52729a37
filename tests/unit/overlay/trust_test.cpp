// SPDX-License-Identifier: Apache-2.0
// What one child may say; how much in all: allowances_test.cpp, and every message at its worst:
// tests/memory/hostile_child_test.cpp.
#include "tree/overlay/trust.hpp"

#include "tests/unit/part_bench.hpp"

namespace charmtree::trust_test {

using namespace charmtree::proto;
using Role = test::PartBench::Role;

TEST_CASE("a child speaks for its own processes and hosts alone", "[trust]") {
  test::PartBench b{Role::below};
  Trust trust;
  const LinkId first = b.child(), second = b.child();
  const wire::Output output{4, 1, false, "x\n", wire::Tail::waited, kNever};
  CHECK_FALSE(trust.refusal(first, output, 0, b));
  const auto why = trust.refusal(second, output, 0, b);
  REQUIRE(why);
  CHECK(why->code == Errc::bad_peer);
  CHECK(why->what == "its launcher spoke for hosts that it was not given");
  CHECK(trust.refusal(second, wire::Note{0, "h0 is fine", true}, 0, b));
  CHECK_FALSE(trust.refusal(second, wire::Note{1, "h1 is fine", true}, 0, b));
}

TEST_CASE("a child says nothing that is for it to hear, or that its job does not want", "[trust]") {
  test::PartBench b{Role::below};
  Trust trust;
  const LinkId link = b.child();
  CHECK(trust.refusal(link, wire::Beat{}, 0, b));
  CHECK(trust.refusal(link, wire::End{}, 0, b));
  CHECK(trust.refusal(link, wire::Fenced{0}, 0, b));
  CHECK(trust.refusal(link, wire::Swept{}, 0, b));
  CHECK(trust.refusal(link, wire::Hello{kNever, 0}, 0, b));
}

TEST_CASE("who tells of a loss may not have heard yet which processes have been moved away from there",
          "[trust]") {
  test::PartBench b{Role::below};
  Trust trust;
  const LinkId first = b.child(), second = b.child();
  const wire::LinkLost lost{0, {Errc::link_lost, Phase::run, "cut"}, {{4, 4}}};
  CHECK_FALSE(trust.refusal(first, lost, 0, b));
  b.launch.subtree().moved({1, 4, 1});
  CHECK_FALSE(trust.refusal(first, lost, 0, b));
  wire::LinkLost others = lost;
  others.processes = {{4, 5}};
  CHECK(trust.refusal(first, others, 0, b));
  others.processes = {{5, 4}};
  CHECK(trust.refusal(first, others, 0, b));
  others.processes = {{3, UINT32_MAX}};
  CHECK(trust.refusal(second, others, 0, b));
}

TEST_CASE("a child says what its own hosts call their processes: of all, or of one", "[trust]") {
  test::PartBench b{Role::below};
  Trust trust;
  const LinkId first = b.child(), second = b.child();
  const auto refused = [&](LinkId link, wire::ProcessIds told) {
    wire::Facts facts;
    facts.process_ids = {std::move(told)};
    return trust.refusal(link, facts, 0, b).has_value();
  };
  CHECK_FALSE(refused(first, {0, 4, {4711}}));
  CHECK(refused(second, {0, 4, {4711}}));
  CHECK(refused(first, {1, 5, {4711}}));
  CHECK(refused(first, {0, 5, {4711}}));
  CHECK(refused(first, {0, 4, {4711, 4712}}));
  CHECK(refused(first, {0, 4, {}}));
  CHECK(refused(first, {77, 4, {4711}}));
}

TEST_CASE("facts are told once, and no more of them than there are processes", "[trust]") {
  test::PartBench b{Role::below};
  Trust trust;
  const LinkId link = b.child();
  wire::Facts facts;
  facts.registered = 2;  // its host has one
  CHECK(trust.refusal(link, facts, 0, b));
  facts = {};
  facts.hosts_up = {0};
  CHECK_FALSE(trust.refusal(link, facts, 0, b));
  b.launch.subtree().answered(0);
  CHECK(trust.refusal(link, facts, 0, b));
}

TEST_CASE("lines beyond what a child may say are left out, counted and told; errors stay", "[trust]") {
  test::PartBench b{Role::below};
  Trust trust;
  const LinkId link = b.child();
  REQUIRE_FALSE(trust.refusal(link, wire::Note{0, "", true}, 0, b));
  for (int i = 0; i < 10000; ++i) b.act(Say{Tone::info, "line"});
  b.act(Say{Tone::error, "lost"});
  trust.leave_out_lines(link, 0, b);
  CHECK(b.actions.size() < 2000);
  CHECK(get<Say>(b.actions.back()).text == "lost");
  const std::size_t left = b.actions.size() - 1;
  b.actions.clear();
  trust.tell_left_out(b.launch, b, true);
  const auto lines = b.take<Say>();
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].text == std::to_string(10000 - left) + " more lines from h0 were left out");
}

}  // namespace charmtree::trust_test
