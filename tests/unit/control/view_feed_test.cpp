// SPDX-License-Identifier: Apache-2.0
#include "charmrun/control/view_feed.hpp"

#include <catch2/catch.hpp>

#include <optional>
#include <string>

namespace charmtree::view_feed_test {

using namespace charmtree::control;

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
    const auto* line = get_if<Line>(&each);
    all += line != nullptr ? line->text : get<Printed>(each).output.text;
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
  history.add(Line{1, "begins"});
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
    CHECK(get<Printed>(history.pieces().back()).output.process == 3);
  }
  SECTION("of one without lines its end") {
    history.add(piece(std::string(100'000, 'x')));
    CHECK(text_of(history) == std::string(ViewHistory::kMostBytes, 'x'));
    history.add(piece(std::string(100'000, 'y') + "\n"));
    CHECK(text_of(history) == std::string(ViewHistory::kMostBytes - 1, 'y') + "\n");
  }
}

TEST_CASE("a message for a viewer arrives as it was sent, and nothing else does", "[view]") {
  const Printed printed{{3, 2, false, "text\n", wire::Tail::prompt, Instant{5s}}, "h1", 4, true};
  wire::FrameDecoder decoder{wire::kMaxLinkFrame};
  for (const ViewMessage& message :
       {ViewMessage{ViewJob{"{}"}}, ViewMessage{Line{2, "a line"}}, ViewMessage{printed},
        ViewMessage{ViewOver{9}}, ViewMessage{ViewRequest{{{3, 3}, {8, 11}}}}})
    decoder.append(*encode(message));
  const auto next = [&]() -> std::optional<ViewMessage> {
    ViewMessage message;
    if (!decode(**decoder.next(), message)) return {};
    return message;
  };
  CHECK(get<ViewJob>(*next()).status == "{}");
  CHECK(get<Line>(*next()).text == "a line");
  const auto third = get<Printed>(*next());
  CHECK((third.output.text == "text\n" && third.output.read == Instant{5s} && third.host == "h1" &&
         third.processes == 4 && third.raw));
  CHECK(get<ViewOver>(*next()).status == 9);
  CHECK(get<ViewRequest>(*next()).which.back().last == 11);
  CHECK_FALSE(decoder.next()->has_value());
  std::string frame = *encode(ViewMessage{Line{2, "a line"}});
  SECTION("a tone that there is not") {
    frame[frame.find('\x02')] = 7;
  }
  SECTION("a type that there is not") {
    frame[5] = 99;
  }
  SECTION("a type of the control protocol") {
    frame[5] = 1;
  }
  decoder.append(frame);
  CHECK_FALSE(next());
}

}  // namespace charmtree::view_feed_test
