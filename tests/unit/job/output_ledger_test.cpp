// SPDX-License-Identifier: Apache-2.0
#include "tree/job/output_ledger.hpp"

#include <catch2/catch.hpp>

#include "tree/wire/frame.hpp"

namespace charmtree::output_ledger_test {

using namespace charmtree::proto;

namespace {

constexpr Instant kNow{100s};

wire::Output oldest(std::uint32_t process, std::uint64_t number) {
  wire::Output output{process, 1, false, "x"};
  output.number = number;
  output.is_oldest = true;
  return output;
}

wire::Output output(std::uint32_t process, std::uint64_t number, std::size_t size = 10) {
  wire::Output output{process, 1, false, std::string(size, 'x')};
  output.number = number;
  return output;
}

}  // namespace

TEST_CASE("each output counts once, and in its order", "[output]") {
  OutputLedger ledger;
  CHECK(ledger.enter(output(3, 1), kNow));
  CHECK(ledger.enter(output(3, 2), kNow));
  CHECK_FALSE(ledger.enter(output(3, 1), kNow));
  CHECK_FALSE(ledger.enter(output(3, 4), kNow));  // 3 was lost on its way, and comes again
  CHECK(ledger.enter(output(3, 3), kNow));
  CHECK(ledger.enter(output(3, 4), kNow));
  CHECK(ledger.enter(output(0, 1), kNow));
}

TEST_CASE("a process may print without end", "[output]") {
  constexpr std::uint64_t kMany = std::uint64_t{1} << 32;
  OutputLedger ledger;
  CHECK(ledger.enter(oldest(3, kMany - 1), kNow));
  CHECK(ledger.enter(output(3, kMany), kNow));
  CHECK(ledger.enter(output(3, kMany + 1), kNow));
  CHECK_FALSE(ledger.enter(output(3, 1), kNow));  // not the one that was taken long ago
  const wire::Message taken = wire::OutputTaken{ledger.take(kNow + OutputLedger::kDelay)};
  const auto frame = wire::encode_frames(taken).value();
  const auto heard =
      wire::kCoreTypes.decode(taken.number(), std::string_view{frame}.substr(wire::kFrameHeader));
  REQUIRE(heard);
  const auto& news = get<wire::OutputTaken>(*heard).processes;
  REQUIRE(news.size() == 1);
  CHECK(news[0].number == kMany + 1);
}

TEST_CASE("what the root has is told soon, and at once if it is much", "[output]") {
  OutputLedger ledger;
  CHECK(ledger.next_deadline() == kNever);
  CHECK(ledger.enter(output(3, 1), kNow));
  CHECK(ledger.enter(output(5, 1), kNow + 10ms));
  CHECK(ledger.next_deadline() == kNow + OutputLedger::kDelay);
  CHECK(ledger.take(kNow + 10ms).empty());
  using Taken = std::vector<wire::OutputTaken::Taken>;
  CHECK(ledger.take(kNow + OutputLedger::kDelay) == Taken{{3, 1}, {5, 1}});
  CHECK(ledger.next_deadline() == kNever);

  CHECK_FALSE(ledger.enter(output(5, 1), kNow + 1s));  // nobody may have heard of it
  CHECK(ledger.take(kNow + 2s) == Taken{{5, 1}});

  CHECK(ledger.enter(output(3, 2, OutputLedger::kMuch), kNow + 3s));
  CHECK(ledger.take(kNow + 3s) == Taken{{3, 2}});
}

TEST_CASE("a root that takes over goes on with the first output that no other is known to have had",
          "[output][takeover]") {
  OutputLedger ledger;
  CHECK_FALSE(ledger.enter(output(3, 8), kNow));  // 7 was under way to the one that was lost
  CHECK(ledger.take(kNow + 1s) ==
        std::vector<wire::OutputTaken::Taken>{{3, 0}});  // which tells nobody anything
  CHECK(ledger.enter(oldest(3, 7), kNow));
  CHECK(ledger.enter(output(3, 8), kNow));
  CHECK_FALSE(ledger.enter(oldest(3, 7), kNow));
  CHECK_FALSE(ledger.enter(output(3, 10), kNow));
  CHECK(ledger.enter(oldest(3, 9), kNow));
  CHECK(ledger.enter(oldest(4, 1), kNow));
  CHECK(ledger.take(kNow + 2s) == std::vector<wire::OutputTaken::Taken>{{3, 9}, {4, 1}});
}

}  // namespace charmtree::output_ledger_test
