// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/login_queue.hpp"

#include <catch2/catch.hpp>
#include <vector>

namespace charmtree::login_queue_test {

using namespace charmtree::proto;

namespace {

constexpr Instant kNow{-5s};
constexpr std::uint32_t kMachine = 7;

std::vector<LinkId> due(LoginQueue& queue, Instant now) {
  std::vector<LinkId> links;
  while (const auto link = queue.take_due(now)) links.push_back(*link);
  return links;
}

/// A queue for a machine that admits no more.
LoginQueue busy() {
  LoginQueue queue;
  for (std::uint32_t i = 0; i < MachineGate::kMost; ++i) queue.begun(kMachine);
  return queue;
}

}  // namespace

TEST_CASE("logins begin in the order of their times, and none sooner", "[login_queue]") {
  LoginQueue queue;
  CHECK(queue.next() == kNever);
  CHECK(queue.empty());
  queue.add(1, kNow + 2s);
  queue.add(2, kNow + 1s);
  queue.add(3, kNow + 1s);
  CHECK(queue.next() == kNow + 1s);
  CHECK(due(queue, kNow).empty());
  CHECK(due(queue, kNow + 3s) == std::vector<LinkId>{2, 3, 1});
  CHECK(queue.empty());
  CHECK(due(queue, kNever).empty());
}

TEST_CASE("whoever does not wait any more does not begin", "[login_queue]") {
  LoginQueue queue = busy();
  queue.add(1, kNow);
  queue.add(2, kNow);
  queue.add_behind(kMachine, 3, kNow);
  queue.remove(1, 0);
  queue.remove(3, kMachine);
  queue.remove(4, kMachine);  // never did
  queue.succeeded(kMachine, kNow);
  CHECK(due(queue, kNow) == std::vector<LinkId>{2});
  CHECK(queue.empty());
}

TEST_CASE("a machine that is busy lets others in when a login ends, the first that came first",
          "[login_queue]") {
  LoginQueue queue = busy();
  CHECK_FALSE(queue.admits(kMachine, kNow));
  for (LinkId link = 1; link <= 6; ++link) queue.add_behind(kMachine, link, kNow);
  CHECK(queue.next() == kNever);
  CHECK_FALSE(queue.empty());
  CHECK(due(queue, kNow + 1h).empty());
  SECTION("with success") {
    queue.succeeded(kMachine, kNow);
  }
  SECTION("with a failure") {
    queue.failed(kMachine, Errc::refused, kNow);
  }
  // Each of them asks the machine again.
  CHECK(due(queue, kNow) == std::vector<LinkId>{1, 2, 3, 4});
  queue.succeeded(kMachine, kNow);
  CHECK(due(queue, kNow) == std::vector<LinkId>{5, 6});
}

TEST_CASE("a login that is cancelled makes room, and lets nobody begin", "[login_queue]") {
  LoginQueue queue = busy();
  queue.add_behind(kMachine, 1, kNow);
  queue.cancelled(kMachine);
  CHECK(queue.admits(kMachine, kNow));
  CHECK(due(queue, kNow + 1h).empty());
}

TEST_CASE("a machine's penalty has an end that is known", "[login_queue]") {
  LoginQueue queue;
  queue.begun(kMachine);
  queue.failed(kMachine, Errc::penalised, kNow);
  queue.add_behind(kMachine, 1, kNow);
  CHECK(queue.next() == kNow + MachineGate::kPenalty);
  CHECK(due(queue, kNow + MachineGate::kPenalty) == std::vector<LinkId>{1});
}

}  // namespace charmtree::login_queue_test
