// SPDX-License-Identifier: Apache-2.0
#include "tree/base/visible.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "charmrun/report/json_parts.hpp"
#include "charmrun/view/own_line.hpp"
#include "tree/base/random.hpp"

namespace charmtree::visible_test {

using proto::Tone;

namespace {

/// What some terminal might obey, or take for the end of a line.
bool has_control(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte < 0x20 && byte != '\t') || byte == 0x7F) return true;
    if (byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("text stays as it is in every language", "[visible]") {
  for (const std::string text : {"", "a\tb ~",
                                 "gr\xc3\xb6\xc3\x9f"
                                 "e \xe2\x82\xac \xf0\x9f\x98\x80 \xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d",
                                 "\\x1b as it was typed"}) {
    CHECK(visible(text) == text);
    CHECK_FALSE(leaves_line(text + "\n"));
  }
}

TEST_CASE("what a terminal might obey is seen instead", "[visible]") {
  CHECK(visible("a\x1b[2J\x7f\x07\r\n") == "a\\x1b[2J\\x7f\\x07\\r\\n");
  CHECK(visible(std::string_view{"a\0b", 3}) == "a\\x00b");
  CHECK(visible("\xc2\x9b"
                "31m") == "\\xc2\\x9b31m");  // C1 in UTF-8
  CHECK(visible("\x9b"
                "31m") == "\\x9b31m");                  // C1 as a byte
  CHECK(visible("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // surrogate
  CHECK(visible("\xf4\x90\x80\x80 \xc0\xaf") ==
        "\\xf4\\x90\\x80\\x80 \\xc0\\xaf");  // beyond Unicode, overlong
  CHECK(visible("cut \xe2\x82") == "cut \\xe2\\x82");
  CHECK(visible("\xe2\x80\xae") == "\\xe2\\x80\\xae");  // from right to left
  CHECK(visible("\xe2\x80\xa8") == "\\xe2\\x80\\xa8");  // line separator
  CHECK(visible("\xef\xbf\xbe") == "\\xef\\xbf\\xbe");  // not allowed in XML
}

TEST_CASE("plain text is printable ASCII, tabs and newlines, wherever its bytes are", "[visible]") {
  for (const std::size_t size : {1, 15, 127, 128, 129, 140}) {
    for (std::size_t at = 0; at < size; ++at) {
      for (unsigned byte = 0; byte < 256; ++byte) {
        const char c = static_cast<char>(byte);
        for (const char around : {'x', '\n', '\t', ' ', '~'}) {
          std::string text(size, around);
          text[at] = c;
          CHECK(is_plain(text) == ((byte >= ' ' && byte <= '~') || c == '\t' || c == '\n'));
        }
      }
    }
  }
  CHECK(is_plain({}));
  CHECK_FALSE(is_plain("a\x1b[31mb\x1b[0m and more"));
  CHECK_FALSE(is_plain(std::string(8, '\0')));
}

TEST_CASE("whatever the bytes are, what becomes of them is one line that rules nothing", "[visible]") {
  Random random{11};
  for (int i = 0; i < 2000; ++i) {
    std::string bytes;
    while (random.below(20) != 0) bytes += static_cast<char>(random.below(256));
    const std::string once = visible(bytes);
    CHECK_FALSE(has_control(once));
    CHECK(visible(once) == once);
    CHECK_FALSE(leaves_line(once + "\n"));
  }
}

TEST_CASE("a line of ours is one line, whatever it tells of", "[visible]") {
  CHECK(own_line(Tone::info, "h1: hello\ncharmrun: error: forged\x1b[2A") ==
        "charmrun: h1: hello\\ncharmrun: error: forged\\x1b[2A\n");
  CHECK(own_line(Tone::error, "x") == "charmrun: error: x\n");
  CHECK(error_lines({Errc::link_lost, Phase::run, "a\nb", "try c"}) == "charmrun: error: a\\nb; try c\n");
}

TEST_CASE("the place of a mistake in a nodelist is shown below it, and cannot look like a line of ours",
          "[visible]") {
  CHECK(error_lines({Errc::bad_input, Phase::nodelist, "list:1:3: what?\n  a \x1b[1mb\n    ^", {}}) ==
        "charmrun: error: list:1:3: what?\n  a \\x1b[1mb\n    ^\n");
  CHECK(error_lines({Errc::bad_input, Phase::nodelist, "a\ncharmrun: error: b", {}}) ==
        "charmrun: error: a\n  charmrun: error: b\n");
}

TEST_CASE("behind a label a line keeps its colours and cannot leave its place", "[visible]") {
  const auto kept = [](std::string_view line) { return kept_in_line(line, "[3] "); };
  CHECK(kept("plain\n") == "plain\n");
  CHECK(kept("\x1b[1;31mred\x1b[0m\r\n") == "\x1b[1;31mred\x1b[0m\r\n");
  CHECK_FALSE(leaves_line("\x1b[1;31mred\x1b[0m\r\n"));
  CHECK(kept("10%\r20%\n") == "10%\r[3] 20%\n");
  CHECK(kept("10%\r") == "10%\r[3] ");  // its rest comes later
  CHECK(kept("\x1b[2A\x1b[K\n") == "\\x1b[2A\\x1b[K\n");
  CHECK(kept("a\x08\x0b\x0c\x1b") == "a\\x08\\x0b\\x0c\\x1b");
  CHECK(kept("\x9b"
             "2A \xc2\x9b"
             "2A\n") ==
        "\\x9b2A \\xc2\\x9b"
        "2A\n");
  CHECK(kept("caf\xe9\n") == "caf\xe9\n");  // another encoding
  for (const std::string_view bad : {"a\rb\n", "a\r", "\x1b[A", "\x1b[1", "\x0c\n", "\x85\n"}) {
    CHECK(leaves_line(bad));
    CHECK(kept(bad) != bad);
  }
}

TEST_CASE("our JSON has no control character that a terminal obeys", "[visible]") {
  const Json json = {{"text", "a\x1b\x7f\xc2\x9b\xc3\xbf"}};
  const std::string text = json_text(json);
  CHECK(text == "{\"text\":\"a\\u001b\\u007f\\u009b\xc3\xbf\"}\n");
  CHECK(Json::parse(text) == json);
}

}  // namespace charmtree::visible_test
