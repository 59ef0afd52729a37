// SPDX-License-Identifier: Apache-2.0
#include "charmrun/view/screen.hpp"

#include <catch2/catch.hpp>

namespace charmtree::screen_test {

using proto::Stream;
using wire::Tail;

namespace {

constexpr Instant kNow{1s};

struct Paper {
  explicit Paper(ScreenKind kind) : screen(kind) {}

  void put(std::uint32_t process, const std::string& text, Tail tail = Tail::waited, Instant now = kNow) {
    screen.put({process, Stream::out, text, tail, false, label ? "[" + std::to_string(process) + "] " : ""},
               now, ink);
  }
  void err(std::uint32_t process, const std::string& text) {
    screen.put({process, Stream::err, text, Tail::waited}, kNow, ink);
  }
  void asks(std::uint32_t process, const std::string& text) {
    screen.put({process, Stream::out, text, Tail::prompt, true}, kNow, ink);
  }
  /// What has been written since the last look.
  std::string look() {
    const std::string bytes = ink.bytes;
    ink.bytes.clear();
    return bytes;
  }

  Screen screen;
  Ink ink;
  bool label = false;
};

}  // namespace

TEST_CASE("whole lines are written as they come, anywhere", "[screen]") {
  for (const ScreenKind kind : {ScreenKind::terminal, ScreenKind::file, ScreenKind::own}) {
    Paper paper{kind};
    paper.put(0, "a\nb\n");
    paper.put(1, "c\n");
    CHECK(paper.look() == "a\nb\nc\n");
    CHECK(paper.screen.next_deadline() == kNever);
  }
}

TEST_CASE("behind a label no line can look as if it had none", "[screen]") {
  for (const ScreenKind kind : {ScreenKind::terminal, ScreenKind::file, ScreenKind::own}) {
    Paper paper{kind};
    paper.put(0, "\rcharmrun: error: x\x1b[A\n");
    CHECK(paper.look() == "\rcharmrun: error: x\x1b[A\n");  // the program's own business
    paper.label = true;
    paper.put(0, "\rcharmrun: error: x\n\x1b[1A\x1b[2Kcharmrun: y\n\x1b[31mred\x1b[m\n");
    CHECK(paper.look() ==
          "[0] \r[0] charmrun: error: x\n[0] \\x1b[1A\\x1b[2Kcharmrun: y\n[0] \x1b[31mred\x1b[m\n");
    paper.put(0, "10%\r", Tail::prompt);
    paper.put(0, "charmrun: error: x\n");
    CHECK(paper.look() == "[0] 10%\r[0] charmrun: error: x\n");
  }
}

TEST_CASE("on a terminal a partial line has the cursor, and others wait for its end", "[screen]") {
  Paper paper{ScreenKind::terminal};
  paper.put(0, "AB");
  paper.put(1, "AB");
  paper.put(2, "line\n");
  CHECK(paper.look() == "AB");
  CHECK(paper.screen.next_deadline() == kNow + Screen::kPatience);
  SECTION("which comes in time") {
    paper.put(1, "CD\n", Tail::waited, kNow + 1s);
    CHECK(paper.look().empty());
    paper.put(0, "CD\n", Tail::waited, kNow + 1s);
    CHECK(paper.look() == "CD\nABCD\nline\n");
    CHECK(paper.screen.next_deadline() == kNever);
  }
  SECTION("which does not: it is broken off with a mark, its rest begins with one") {
    paper.screen.tick(kNow + Screen::kPatience - 1ns, paper.ink);
    CHECK(paper.look().empty());
    paper.screen.tick(kNow + Screen::kPatience, paper.ink);
    CHECK(paper.look() == "\\\nAB\\\nline\n");
    paper.put(0, "CD\nmore\n", Tail::waited, kNow + 3s);
    paper.put(1, "CD\n", Tail::waited, kNow + 3s);
    CHECK(paper.look() == "\\CD\nmore\n\\CD\n");
    paper.put(0, "next\n");
    CHECK(paper.look() == "next\n");
  }
  SECTION("but for the process itself, on its other stream") {
    paper.err(0, "oops\n");
    CHECK(paper.look() == "\\\nAB");  // whose turn comes first
    paper.put(1, "\n");
    CHECK(paper.look() == "\nline\noops\n");
  }
  SECTION("and but for us") {
    paper.screen.say("charmrun: news\n", kNow, paper.ink);
    CHECK(paper.look() == "\\\ncharmrun: news\nAB");
    paper.screen.tick(kNow + Screen::kPatience, paper.ink);
    CHECK(paper.look() == "\\\nline\n");
  }
  SECTION("or the end of all") {
    paper.screen.finish(kNow, paper.ink);
    CHECK(paper.look() == "\\\nAB\\\nline\n");
  }
}

TEST_CASE("who waits for a line keeps the order of its own", "[screen]") {
  Paper paper{ScreenKind::terminal};
  paper.put(0, "0...");
  for (const char* text : {"1", "2", "3\n"}) paper.put(1, text);
  for (const char* text : {"4\n", "5", "6\n"}) paper.put(2, text);
  paper.put(0, "\n");
  CHECK(paper.look() == "0...\n123\n4\n56\n");
}

TEST_CASE("not more than so much waits for a line", "[screen]") {
  Paper paper{ScreenKind::terminal};
  paper.put(0, "AB");
  SECTION("bytes") {
    paper.put(1, std::string(Screen::kMostHeld - 1, 'x') + "\n");
    CHECK(paper.look() == "AB");
    paper.put(1, "y\n");
    CHECK(paper.look().ends_with("x\ny\n"));
  }
  SECTION("pieces") {
    for (std::size_t i = 0; i < Screen::kMostPieces; ++i) paper.put(1, "1\n");
    CHECK(paper.look() == "AB");
    paper.put(2, "2\n");
    CHECK(paper.look().ends_with("1\n2\n"));
  }
}

TEST_CASE("in a file a line waits for its newline, whatever its length and others", "[screen]") {
  Paper paper{ScreenKind::file};
  paper.put(0, "AB");
  paper.put(1, "whole\nx", Tail::too_long);
  paper.err(0, "!");
  CHECK(paper.look() == "whole\n");
  paper.put(0, "CD\nEF");
  CHECK(paper.look() == "ABCD\n");
  paper.put(1, std::string(1U << 20, 'y'), Tail::too_long);
  paper.put(1, "\n");
  CHECK(paper.look() == "x" + std::string(1U << 20, 'y') + "\n");
  SECTION("its process ends") {
    paper.put(0, "", Tail::ended);
    CHECK(paper.look() == "EF");
    paper.put(1, "next\n");
    CHECK(paper.look() == "\nnext\n");
  }
  SECTION("all ends") {
    paper.screen.finish(kNow, paper.ink);
    CHECK(paper.look() == "EF\n!");
  }
  SECTION("it becomes a prompt") {
    paper.put(0, "? ", Tail::prompt);
    CHECK(paper.look() == "EF? ");
  }
}

TEST_CASE("in a file a prompt is seen at once, and broken off when others write", "[screen]") {
  Paper paper{ScreenKind::file};
  paper.put(0, "name? ", Tail::prompt);
  paper.put(0, "age? ", Tail::prompt);
  paper.put(0, "sex? ");
  CHECK(paper.look() == "name? age? sex? ");
  paper.put(1, "line\n");
  CHECK(paper.look() == "\\\nline\n");
  paper.put(0, "ok\n");
  CHECK(paper.look() == "\\ok\n");
  paper.asks(0, "printed");  // who waits for it gets an answer
  CHECK(paper.ink.receipts.size() == 1);
}

TEST_CASE("lines that wait for their newlines in a file have a limit: the longest is broken off",
          "[screen]") {
  Paper paper{ScreenKind::file};
  const std::string quarter(Screen::kMaxBegun / 4, 'x');
  paper.put(0, "short");
  for (int i = 0; i < 3; ++i) paper.put(1, quarter);
  CHECK(paper.look().empty());
  paper.put(2, quarter);
  CHECK(paper.look() == quarter + quarter + quarter + "\\\n");
  paper.put(1, "end\n");
  CHECK(paper.look() == "\\end\n");
  paper.put(0, "er\n");
  paper.put(2, "\n");
  CHECK(paper.look() == "shorter\n" + quarter + "\n");
  for (int i = 0; i < 3; ++i) paper.put(0, quarter);
  CHECK(paper.look().empty());  // what has been written counts no more
}

TEST_CASE("with labels a line in a file is broken off, without a mark behind a carriage return", "[screen]") {
  Paper paper{ScreenKind::file};
  paper.label = true;
  paper.put(0, "AB");
  paper.put(1, "whole\n");
  paper.put(0, "CD\n");
  CHECK(paper.look() == "[0] AB\\\n[1] whole\n[0] \\CD\n");
  paper.put(0, "10%\r");
  paper.put(1, "whole\n");
  paper.put(0, "20%\n");
  CHECK(paper.look().find('\\') == std::string::npos);
}

TEST_CASE("a line that is too long goes on behind a mark", "[screen]") {
  Paper paper{ScreenKind::terminal};
  paper.put(0, "x\nlong", Tail::too_long);
  paper.put(1, "other\n");
  paper.put(0, "er\n");
  CHECK(paper.look() == "x\nlong\\\nother\n\\er\n");
}

TEST_CASE("a last line without a newline gets one when something follows", "[screen]") {
  Paper paper{ScreenKind::file};
  paper.put(0, "last", Tail::ended);
  CHECK(paper.look() == "last");
  SECTION("of another process") {
    paper.put(1, "last", Tail::ended);
    CHECK(paper.look() == "\nlast");
    paper.screen.finish(kNow, paper.ink);
    CHECK(paper.look().empty());
  }
  SECTION("of us") {
    paper.screen.say("charmrun: end\n", kNow, paper.ink);
    CHECK(paper.look() == "\ncharmrun: end\n");
  }
  SECTION("also if it was a prompt that was broken off before") {
    paper.put(1, "AB", Tail::prompt);
    paper.put(0, "x\n");
    paper.put(1, "", Tail::ended);
    paper.put(1, "new\n");
    CHECK(paper.look() == "\nAB\\\nx\nnew\n");
  }
}

TEST_CASE("labels stand before lines and before their rests", "[screen]") {
  Paper paper{ScreenKind::terminal};
  paper.label = true;
  paper.put(0, "one\ntwo\nAB");
  paper.put(0, "CD");
  CHECK(paper.look() == "[0] one\n[0] two\n[0] ABCD");
  paper.put(1, "x\n");
  paper.screen.tick(kNow + Screen::kPatience, paper.ink);
  paper.put(0, "EF\n\n");
  CHECK(paper.look() == "\\\n[1] x\n[0] \\EF\n[0] \n");
}

TEST_CASE("a file of one process takes all as it is, but for labels", "[screen]") {
  Paper paper{ScreenKind::own};
  paper.label = true;
  paper.put(0, "AB");
  paper.err(0, "!");
  paper.put(0, "CD\nlong", Tail::too_long);
  paper.put(0, "er", Tail::ended);
  CHECK(paper.look() == "[0] AB!CD\n[0] longer");
}

TEST_CASE("a receipt comes with the line, not before it", "[screen]") {
  Paper paper{ScreenKind::terminal};
  paper.asks(0, "printed\n");
  CHECK(paper.ink.receipts == std::vector<std::uint32_t>{0});
  paper.ink = {};
  paper.put(0, "AB");
  paper.asks(1, "waits\n");
  CHECK(paper.ink.receipts.empty());
  paper.put(0, "\n");
  CHECK(paper.ink.receipts == std::vector<std::uint32_t>{1});
}

}  // namespace charmtree::screen_test
