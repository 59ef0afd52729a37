// SPDX-License-Identifier: Apache-2.0
#include "tree/job/line_buffer.hpp"

#include <catch2/catch.hpp>

namespace charmtree::line_buffer_test {

using namespace charmtree::proto;
using wire::Tail;

namespace {
constexpr Instant kNow{1s};
constexpr Duration kHold = 5s;

std::vector<LineBuffer::Piece> append(LineBuffer& lines, std::string_view bytes, Instant now = kNow) {
  std::vector<LineBuffer::Piece> ready;
  lines.append(bytes, now, kHold, ready);
  return ready;
}
/// The text of all pieces.
std::string text(LineBuffer& lines, std::string_view bytes, Instant now = kNow) {
  std::string all;
  for (const LineBuffer::Piece& piece : append(lines, bytes, now)) all += piece.text;
  return all;
}
}  // namespace

TEST_CASE("whole lines pass, the rest waits for its newline", "[line_buffer]") {
  LineBuffer lines;
  CHECK(text(lines, "one\ntwo\nth") == "one\ntwo\n");
  CHECK(text(lines, "r").empty());
  CHECK(text(lines, "ee\n") == "three\n");
  CHECK(lines.deadline() == kNever);
  CHECK(lines.flush().empty());
  CHECK_FALSE(lines.is_open());
}

TEST_CASE("a partial line passes when its time has come, measured from its first byte", "[line_buffer]") {
  LineBuffer lines;
  CHECK(text(lines, "a").empty());
  CHECK(text(lines, "b", kNow + 4s).empty());
  CHECK(lines.deadline() == kNow + kHold);
  CHECK(lines.expired(kNow + kHold - 1ns).empty());
  CHECK(lines.expired(kNow + kHold) == "ab");
  CHECK(lines.is_open());
  CHECK(lines.deadline() == kNever);
  CHECK(text(lines, "c\nd", kNow + 10s) == "c\n");
  CHECK_FALSE(lines.is_open());
  CHECK(lines.deadline() == kNow + 15s);
}

TEST_CASE("a line that is too long passes in pieces, and says so", "[line_buffer]") {
  LineBuffer lines;
  const std::string most(LineBuffer::kMaxLine, 'x');
  SECTION("the longest line is no such line") {
    const auto ready = append(lines, "a\n" + most + "\nb\n");
    REQUIRE(ready.size() == 1);
    CHECK(ready[0].text == "a\n" + most + "\nb\n");
    CHECK(ready[0].tail == Tail::waited);
  }
  SECTION("one byte more is cut off") {
    const auto ready = append(lines, "a\n" + most + "y\nb");
    REQUIRE(ready.size() == 2);
    CHECK(ready[0].text == "a\n" + most);
    CHECK(ready[0].tail == Tail::too_long);
    CHECK(ready[1].text == "y\n");
    CHECK(lines.flush() == "b");
  }
  SECTION("several times, and without its newline") {
    const auto ready = append(lines, most + most + most);
    REQUIRE(ready.size() == 2);
    CHECK((ready[1].text == most && ready[1].tail == Tail::too_long));
    CHECK(lines.is_open());
    CHECK(text(lines, "\n") == most + "\n");
    CHECK_FALSE(lines.is_open());
  }
  SECTION("that comes byte by byte: nothing is lost, and no more than the limit is held") {
    std::string all;
    std::size_t cut = 0;
    for (std::size_t i = 0; i < 2 * LineBuffer::kMaxLine + 7; ++i) {
      for (const LineBuffer::Piece& piece : append(lines, "z")) {
        CHECK(piece.text.size() == LineBuffer::kMaxLine);
        cut += piece.tail == Tail::too_long ? 1 : 0;
        all += piece.text;
      }
    }
    CHECK(cut == 2);
    CHECK((all + lines.flush()).size() == 2 * LineBuffer::kMaxLine + 7);
  }
}

TEST_CASE("a line is cut between characters", "[line_buffer]") {
  LineBuffer lines;
  SECTION("that is too long") {
    for (const std::string_view last : {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
      const std::string most(LineBuffer::kMaxLine - 1, 'x');
      const auto ready = append(lines, most + std::string{last} + "y\n");
      REQUIRE(ready.size() == 2);
      CHECK((ready[0].text == most && ready[0].tail == Tail::too_long));
      CHECK(ready[1].text == std::string{last} + "y\n");
    }
  }
  SECTION("whose time has come, of which the rest waits anew") {
    CHECK(append(lines, "a\xe2\x82").empty());
    CHECK(lines.expired(kNow + kHold) == "a");
    CHECK(lines.deadline() == kNever);
    CHECK(append(lines, "\xac!", kNow + 10s).empty());
    CHECK(lines.expired(kNow + 10s + kHold) == "\xe2\x82\xac!");
  }
  SECTION("but at the end of the stream all of it passes, and so do bytes that are no UTF-8") {
    CHECK(append(lines, "a\xe2\x82").empty());
    CHECK(lines.flush() == "a\xe2\x82");
    CHECK(append(lines, "b\xff\x80\x80\x80\x80", kNow).empty());
    CHECK(lines.expired(kNow + kHold) == "b\xff\x80\x80\x80\x80");
  }
}

TEST_CASE("a long partial line does not make the next one pass early", "[line_buffer]") {
  LineBuffer lines;
  CHECK(text(lines, std::string(60'000, 'a')).empty());
  const std::string ready = text(lines, "\n" + std::string(10'000, 'b'));
  CHECK(ready.size() == 60'001);
  CHECK(lines.flush().size() == 10'000);
}

}  // namespace charmtree::line_buffer_test
