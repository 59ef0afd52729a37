// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/link_flow.hpp"

#include <catch2/catch.hpp>

namespace charmtree::link_flow_test {

using namespace charmtree::proto;
using Held = LinkFlow::Held;

namespace {

constexpr LinkId kFirst = 1, kSecond = 2, kThird = 3;
constexpr std::size_t kMib = 1U << 20;

/// Links of which nothing is taken unless the test says so.
struct Links {
  LinkFlow flow;
  std::map<LinkId, std::size_t> waiting;
  Instant now{100s};

  void send(LinkId link, std::size_t size, std::optional<LinkId> cause) {
    waiting[link] += size;
    flow.sent(link, size, waiting[link], cause, now);
  }
  void take(LinkId link, std::size_t size) {
    waiting[link] -= size;
    flow.look(link, waiting[link], now);
  }
};

}  // namespace

TEST_CASE("a child whose answers wait is not read until most of them have gone", "[flow]") {
  Links links;
  links.send(kFirst, LinkFlow::kHeldAbove, kFirst);
  CHECK(links.flow.held(kFirst) == Held::no);
  links.send(kFirst, 1, kFirst);
  CHECK(links.flow.held(kFirst) == Held::by_own);
  CHECK(links.flow.held(kSecond) == Held::no);
  links.take(kFirst, LinkFlow::kHeldAbove - LinkFlow::kReadAgain);
  CHECK(links.flow.held(kFirst) == Held::by_own);
  links.take(kFirst, 1);
  CHECK(links.flow.held(kFirst) == Held::no);
  CHECK_FALSE(links.flow.any_full());
}

TEST_CASE("whatever has filled it, its child is not read", "[flow]") {
  Links links;
  links.send(kFirst, LinkFlow::kHeldAbove + 1, std::nullopt);
  CHECK(links.flow.held(kFirst) == Held::by_own);
}

TEST_CASE("a child that fills the link of another one is not read, but later", "[flow]") {
  Links links;
  links.send(kFirst, LinkFlow::kMostForOthers, kSecond);
  CHECK(links.flow.held(kSecond) == Held::no);
  links.send(kFirst, 1, kSecond);
  CHECK(links.flow.held(kSecond) == Held::by_others);
  CHECK(links.flow.held(kThird) == Held::no);
  links.take(kFirst, links.waiting[kFirst] - LinkFlow::kHeldAbove);
  CHECK(links.flow.held(kSecond) == Held::no);
  CHECK(links.flow.held(kFirst) == Held::by_own);
}

TEST_CASE("a link that is gone holds up no other", "[flow]") {
  Links links;
  links.send(kFirst, 20 * kMib, kSecond);
  links.flow.forget(kFirst);
  CHECK(links.flow.held(kSecond) == Held::no);
  CHECK_FALSE(links.flow.any_full());
}

TEST_CASE("a full link is known to live as long as it takes some", "[flow]") {
  Links links;
  CHECK(links.flow.took(kFirst) == kNever);
  links.send(kFirst, 5 * kMib, kFirst);
  CHECK(links.flow.took(kFirst) == Instant{100s});
  links.now += 5s;
  links.send(kFirst, 10, {});  // a heartbeat
  links.flow.look(kFirst, links.waiting[kFirst], links.now);
  CHECK(links.flow.took(kFirst) == Instant{100s});
  links.take(kFirst, 1);
  CHECK(links.flow.took(kFirst) == Instant{105s});
  links.now += 5s;
  links.waiting[kFirst] -= 5;  // taken while more is sent
  links.send(kFirst, 10, {});
  CHECK(links.flow.took(kFirst) == Instant{110s});
}

}  // namespace charmtree::link_flow_test
