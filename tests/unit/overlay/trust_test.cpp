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
  CHECK(std::get<Say>(b.actions.back()).text == "lost");
  const std::size_t left = b.actions.size() - 1;
  b.actions.clear();
  trust.tell_left_out(b.launch, b, true);
  const auto lines = b.take<Say>();
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].text == std::to_string(10000 - left) + " more lines from h0 were left out");
}

}  // namespace charmtree::trust_test
