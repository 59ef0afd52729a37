// SPDX-License-Identifier: Apache-2.0
#include "tree/proto/line_buffer.hpp"

#include <catch2/catch.hpp>

using namespace charmtree;
using namespace charmtree::proto;

namespace {
constexpr Instant kNow{1s};
constexpr Duration kHold = 5s;
}  // namespace

TEST_CASE("whole lines pass, the rest waits for its newline", "[line_buffer]") {
  LineBuffer lines;
  CHECK(lines.append("one\ntwo\nth", kNow, kHold, false) == "one\ntwo\n");
  CHECK(lines.append("r", kNow, kHold, false).empty());
  CHECK(lines.append("ee\n", kNow, kHold, false) == "three\n");
  CHECK(lines.deadline() == kNever);
  CHECK(lines.flush().empty());
}

TEST_CASE("a partial line passes when its time has come, measured from its first byte", "[line_buffer]") {
  LineBuffer lines;
  CHECK(lines.append("a", kNow, kHold, false).empty());
  CHECK(lines.append("b", kNow + 4s, kHold, false).empty());
  CHECK(lines.deadline() == kNow + kHold);
  CHECK(lines.expired(kNow + kHold - 1ns).empty());
  CHECK(lines.expired(kNow + kHold) == "ab");
  CHECK(lines.deadline() == kNever);
  CHECK(lines.append("c\nd", kNow + 10s, kHold, false) == "c\n");
  CHECK(lines.deadline() == kNow + 15s);
}

TEST_CASE("raw bytes pass at once, with what waited before them", "[line_buffer]") {
  LineBuffer lines;
  CHECK(lines.append("prompt", kNow, kHold, false).empty());
  CHECK(lines.append("> ", kNow, kHold, true) == "prompt> ");
  CHECK(lines.append("x", kNow, kHold, false).empty());
  CHECK(lines.append("", kNow, kHold, true) == "x");
  CHECK(lines.flush().empty());
}

TEST_CASE("a line that is too long passes in pieces; nothing is lost and no more than the limit is held",
          "[line_buffer]") {
  LineBuffer lines;
  const std::string piece(10'000, 'x');
  std::string all;
  std::size_t held = 0;
  for (int i = 0; i < 20; ++i) {
    const std::string ready = lines.append(piece, kNow, kHold, false);
    held += piece.size() - ready.size();
    all += ready;
    CHECK(held <= LineBuffer::kMaxLine);
  }
  CHECK((all + lines.flush()).size() == 200'000);
}

TEST_CASE("a long partial line does not make the next one pass early", "[line_buffer]") {
  LineBuffer lines;
  CHECK(lines.append(std::string(60'000, 'a'), kNow, kHold, false).empty());
  const std::string ready = lines.append("\n" + std::string(10'000, 'b'), kNow, kHold, false);
  CHECK(ready.size() == 60'001);
  CHECK(lines.flush().size() == 10'000);
}
