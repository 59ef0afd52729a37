// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/scan.hpp"

#include <catch2/catch.hpp>

namespace charmtree::scan_test {

using namespace charmtree::wire;

namespace {

constexpr std::size_t kMore = SIZE_MAX;  // "more input is needed"

/// What a scanf would consume of `input`, of which there may be more to come.
std::size_t consumed(std::string_view format, std::string_view input) {
  const Scan scan = scan_prefix(format, input, false);
  return scan.complete ? scan.consumed : kMore;
}

std::size_t consumed_at_end(std::string_view format, std::string_view input) {
  const Scan scan = scan_prefix(format, input, true);
  return scan.complete ? scan.consumed : kMore;
}

}  // namespace

TEST_CASE("a scanf consumes what its format matches and leaves the rest", "[scan]") {
  CHECK(consumed("%d", "42\nnext\n") == 2);
  CHECK(consumed("%d %d", "1\n2\n3\n") == 3);
  CHECK(consumed("%5ld", "123456789\n") == 5);
  CHECK(consumed("%s %lf", "  pi 3.14 rest\n") == 9);
  CHECK(consumed("%*d:%d", "10:20\n") == 5);
  CHECK(consumed("%c", "xy") == 1);
  CHECK(consumed("%[^\n]", "a whole line\n") == 12);
  CHECK(consumed("%[]x]", "x]x.\n") == 3);
  CHECK(consumed("%d%%", "50% of\n") == 3);
  CHECK(consumed("%x", "0xff\n") == 4);
  CHECK(consumed("%hhd%n", "7\n") == 1);
  CHECK(consumed("%ls", "wide\n") == 4);
}

TEST_CASE("a scanf waits until an unread character follows its match", "[scan]") {
  CHECK(consumed("%d", "") == kMore);
  CHECK(consumed("%d", "4") == kMore);
  CHECK(consumed("%d", "-") == kMore);
  CHECK(consumed("%d", "4\n") == 1);
  CHECK(consumed("%d ", "4\n") == kMore);  // more blanks may follow
  CHECK(consumed("%d ", "4\n\n5\n") == 3);
  CHECK(consumed("%d %d", "1\n\n\n") == kMore);
  CHECK(consumed("%c", "x") == kMore);
}

TEST_CASE("at the end of the input a scanf is answered with what there is", "[scan]") {
  CHECK(consumed_at_end("%d", "4") == 1);
  CHECK(consumed_at_end("%d %d", "4\n") == 2);
  CHECK(consumed_at_end("%d", "") == 0);
  CHECK(consumed_at_end("%d", "abc") == 3);
  CHECK(consumed_at_end("%d%%", "4") == 1);
}

TEST_CASE("input that cannot match is answered up to the end of its line", "[scan]") {
  CHECK(consumed("%d", "abc\n5\n") == 4);
  CHECK(consumed("%d", "abc") == kMore);
  CHECK(consumed("%d", "\n\n abc\n5\n") == 7);
  CHECK(consumed("%d %d", "1\nx\n2\n") == 4);
  CHECK(consumed("%d,%d", "1\n2\n") == 2);
  CHECK(consumed("%d%[a-z]", "5\n") == 2);
  CHECK(consumed("%d", "-\n") == 2);
}

TEST_CASE("a format that is not understood consumes one line", "[scan]") {
  for (const char* format : {"%", "%y", "%1$d", "%[abc", "%0d", "%1234567d", "%'d"}) {
    CAPTURE(format);
    CHECK(consumed(format, "one\ntwo\n") == 4);
    CHECK(consumed(format, "one") == kMore);
    CHECK(consumed_at_end(format, "one") == 3);
  }
  CHECK(consumed(std::string_view{"%d\0%d", 5}, "1 2\n3\n") == 4);
}

TEST_CASE("formats are bounded in length and in conversions", "[scan]") {
  std::string eighteen, input;
  for (int i = 0; i < kMaxScanConversions; ++i) {
    eighteen += "%d ";
    input += "1 ";
  }
  eighteen.pop_back();
  CHECK(consumed(eighteen, input + "x\n") == input.size() - 1);
  CHECK(consumed(eighteen + " %d", "1\n" + input) == 2);

  std::string suppressed;
  for (int i = 0; i < 100; ++i) suppressed += "%*d";
  CHECK(consumed(suppressed, "1\n2\n") == 2);
  CHECK(consumed(std::string(kMaxScanFormat + 1, ' '), "1\n2\n") == 2);
  CHECK(consumed(std::string(kMaxScanFormat, ' ') + "", "1\n2\n") == 0);
}

TEST_CASE("long input costs what is consumed of it", "[scan]") {
  std::string input(16U << 20, '\n');
  input += "7\n";
  CHECK(consumed("%d", input) == input.size() - 1);  // a small multiple of the input, not its square
  input.insert(0, "7\n");
  for (int i = 0; i < 10'000; ++i) REQUIRE(consumed("%d", input) == 1);
  const std::string words(1U << 20, 'x');
  CHECK(consumed("%s", words) == kMore);
  CHECK(consumed("%s", words + "\n") == words.size());
}

TEST_CASE("a NUL in the input is a blank", "[scan]") {
  CHECK(consumed("%d %d", std::string_view{"1\0002\n", 4}) == 3);
}

TEST_CASE("formats that blanks before the input do not change", "[scan]") {
  for (const char* format : {"%d", "%5ld", "%*d %c", " %c", "\t%[a]", "%s", "%lf", "%%x", "%p", "%C%d"}) {
    CAPTURE(format);
    CHECK(skips_leading_blanks(format) == (std::string_view{format} != "%C%d"));
  }
  for (const char* format : {"", "%c", "%*c", "%3c", "%[a-z]", "x", "x %d", "%d%n", "%y", "%n"}) {
    CAPTURE(format);
    CHECK_FALSE(skips_leading_blanks(format));
  }
}

}  // namespace charmtree::scan_test
