// SPDX-License-Identifier: Apache-2.0
// What a child may say.
#include "tree/overlay/allowances.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/unit/one_launcher.hpp"

namespace charmtree::allowances_test {

using namespace charmtree::proto;
using namespace charmtree::test;

namespace {

constexpr LinkId kChild = 1;
constexpr Instant kNow{100s};

RootPlan plan_with_one_child() {
  RootPlan plan = make_plan(2);
  plan.job.launch.shape = {1, 0};
  return plan;
}

/// Its child, on h0, has greeted.
void greet(OneLauncher& root, Instant clock = Instant{5s}) {
  root.on(Begin{});
  root.on(LinkUp{kChild, {}, {}, {}});
  root.on(LinkMessage{kChild, wire::Hello{clock, 1}});
}

}  // namespace

TEST_CASE("a child that speaks for more may say more, and more with time", "[allowances]") {
  Allowances allowances;
  allowances.set(kChild, {2, 4});
  const auto said = [&](Instant now) {
    int messages = 0;
    while (allowances.message(kChild, now)) ++messages;
    return messages;
  };
  constexpr std::int64_t all =
      Allowances::kMessages + 2 * Allowances::kMessagesOfHost + 4 * Allowances::kMessagesOfProcess;
  CHECK(said(kNow) == all);
  CHECK(said(kNow) == 0);
  CHECK(said(kNow + 500ms) == 0);
  CHECK(said(kNow + 1s) == std::min<std::int64_t>(all, Allowances::kMessagesPerSecond * (1 + 2 + 4)));
  CHECK(said(kNow + 24h) == all);
}

TEST_CASE("texts are cut once too many are kept", "[allowances]") {
  Allowances allowances;
  allowances.set(kChild, {1, 1});
  std::size_t kept = 0;
  for (int i = 0; i < 10'000; ++i) {
    std::string text(1000, 't'), short_text(100, 's');
    allowances.cut(kChild, text, kNow);
    allowances.cut(kChild, short_text, kNow);
    CHECK(text.size() == (kept + 1000 <= Allowances::kTexts ? 1000 : Allowances::kText));
    kept += text.size();
    CHECK(short_text.size() == 100);
    if (text.size() < 1000) break;
  }
  CHECK(kept > Allowances::kTexts - 1000);
}

TEST_CASE("a flood of lines is left out, and one line says so", "[allowances]") {
  OneLauncher root{plan_with_one_child(), 1};
  greet(root);
  std::size_t shown = 0;
  constexpr std::size_t kLines = 5000;
  for (std::size_t i = 0; i < kLines; ++i) {
    root.on(LinkMessage{kChild, wire::Note{0, "spam", true}});
    CHECK(root.count<CloseLink>() == 0);
    shown += root.count<Say>();
  }
  CHECK(shown > 500);
  CHECK(shown < 2000);
  root.now += Allowances::kTold;
  root.on(Tick{});
  REQUIRE(root.first<Say>() != nullptr);
  CHECK(root.first<Say>()->text == std::to_string(kLines - shown) + " more lines from h0 were left out");
  root.now += 10s;
  root.on(LinkMessage{kChild, wire::Note{0, "news", true}});
  REQUIRE(root.first<Say>() != nullptr);
  CHECK(root.first<Say>()->text == "h0: news");
}

TEST_CASE("a child that says more than there can be to say is cut off", "[allowances]") {
  OneLauncher root{plan_with_one_child(), 1};
  greet(root);
  std::size_t messages = 0;
  for (; messages < 10'000 && root.count<CloseLink>() == 0; ++messages)
    root.on(LinkMessage{kChild, wire::Confirmed{}});
  CHECK(messages < 1000);
  REQUIRE(root.first<Say>() != nullptr);
  CHECK(root.first<Say>()->text == "h0: run: its launcher said more than there can be to say");
}

TEST_CASE("a launcher must have a clock", "[allowances]") {
  OneLauncher root{plan_with_one_child(), 1};
  greet(root, kNever);
  CHECK(root.count<CloseLink>() == 1);
}

}  // namespace charmtree::allowances_test
