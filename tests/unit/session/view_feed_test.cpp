// SPDX-License-Identifier: Apache-2.0
#include "charmrun/session/view_feed.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace charmtree::view_feed_test {

using session::Said;
using session::ToShow;

namespace {

proto::Show piece(const std::string& text) {
  proto::Show shown;
  shown.output.process = 3;
  shown.output.text = text;
  return shown;
}

/// What all pieces show, behind one another.
std::string text_of(const ViewHistory& history) {
  std::string all;
  for (const ViewHistory::Piece& each : history.pieces()) {
    const auto* said = get_if<Said>(&each);
    all += said != nullptr ? said->line : get<ToShow>(each).output.text;
  }
  return all;
}

}  // namespace

TEST_CASE("viewers together get so many bytes at once, and so many a second", "[view]") {
  ViewBudget budget;
  Instant now{100s};
  CHECK(budget.take(ViewBudget::kBurst, now));
  CHECK_FALSE(budget.take(1, now));
  CHECK(budget.take(0, now));
  now += 500ms;
  CHECK_FALSE(budget.take(ViewBudget::kRate / 2 + 1, now));
  CHECK(budget.take(ViewBudget::kRate / 2, now));
  now += 1h;
  CHECK_FALSE(budget.take(ViewBudget::kBurst + 1, now));
  CHECK(budget.take(ViewBudget::kBurst, now));
  std::size_t taken = 0;  // in small steps no more is earned
  for (int i = 0; i < 1000; ++i) {
    now += 1ms;
    while (budget.take(1000, now)) taken += 1000;
  }
  CHECK((taken <= ViewBudget::kRate && taken > ViewBudget::kRate / 10 * 9));
}

TEST_CASE("who does not read misses output until he has read, and is told how much", "[view]") {
  ViewFeed feed;
  CHECK(feed.can_take(ViewFeed::kMostUnread, 0));
  CHECK_FALSE(feed.can_take(1, ViewFeed::kMostUnread));
  CHECK(feed.take_missed(0) == 0);
  feed.miss(10);
  feed.miss(20);
  CHECK(feed.misses());
  CHECK_FALSE(feed.can_take(1, 0));  // else there would be a gap that he does not know of
  CHECK(feed.take_missed(ViewFeed::kGoOnBelow + 1) == 0);
  CHECK(feed.take_missed(ViewFeed::kGoOnBelow) == 30);
  CHECK_FALSE(feed.misses());
  CHECK(feed.can_take(1, ViewFeed::kGoOnBelow));
}

TEST_CASE("the last that was shown is kept, and no more", "[view]") {
  ViewHistory history;
  history.add(Said{1, "begins"});
  history.add(piece("a\n"));
  CHECK(text_of(history) == "beginsa\n");
  SECTION("of many pieces the last ones") {
    for (int i = 0; i < 10'000; ++i) history.add(piece(std::to_string(i) + "\n"));
    const std::string all = text_of(history);
    CHECK((all.ends_with("9998\n9999\n") && all.size() <= ViewHistory::kMostBytes));
    CHECK(history.pieces().size() <= ViewHistory::kMostBytes / 64 + 1);
  }
  SECTION("of a long one its last lines") {
    history.add(piece(std::string(100'000, 'x') + "\n" + std::string(9000, 'y') + "\nlast"));
    CHECK(text_of(history) == "beginsa\n" + std::string(9000, 'y') + "\nlast");
    CHECK(get<ToShow>(history.pieces().back()).output.process == 3);
  }
  SECTION("of one without lines its end") {
    history.add(piece(std::string(100'000, 'x')));
    CHECK(text_of(history) == std::string(ViewHistory::kMostBytes, 'x'));
    history.add(piece(std::string(100'000, 'y') + "\n"));
    CHECK(text_of(history) == std::string(ViewHistory::kMostBytes - 1, 'y') + "\n");
  }
}

TEST_CASE("what a viewer is told arrives as it was said, and nothing else does", "[view]") {
  const ToShow shown{{3, 2, false, "text\n", wire::Tail::prompt, Instant{5s}}, "h1", 4, true};
  wire::FrameDecoder decoder{wire::kMaxLinkFrame};
  for (const ViewMessage& message :
       {ViewMessage{Viewed{"charmrun", "{}"}}, ViewMessage{Said{2, "a line"}}, ViewMessage{shown},
        ViewMessage{session::Over{3, 9, {}}}, ViewMessage{ViewWanted{{{3, 3}, {8, 11}}}}})
    decoder.append(*encode_view(message));
  CHECK(get<Viewed>(**next_view(decoder)).status == "{}");
  CHECK(get<Said>(**next_view(decoder)).line == "a line");
  const auto third = get<ToShow>(**next_view(decoder));
  CHECK((third.output.text == "text\n" && third.output.read == Instant{5s} && third.host == "h1" &&
         third.processes == 4 && third.raw));
  CHECK(get<session::Over>(**next_view(decoder)).signal == 9);
  CHECK(get<ViewWanted>(**next_view(decoder)).which.back().last == 11);
  CHECK_FALSE(next_view(decoder)->has_value());
  std::string frame = *encode_view(Said{2, "a line"});
  SECTION("a tone that there is not") {
    frame[frame.find('\x02')] = 7;
  }
  SECTION("a type that there is not") {
    frame = *encode_view(session::Over{}), frame[4] = 9;
  }
  decoder.append(frame);
  CHECK_FALSE(next_view(decoder));
}

}  // namespace charmtree::view_feed_test
