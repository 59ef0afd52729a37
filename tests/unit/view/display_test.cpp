// SPDX-License-Identifier: Apache-2.0
#include "charmrun/view/display.hpp"

#include <catch2/catch.hpp>

namespace charmtree::display_test {

using proto::Stream;
using wire::Tail;

namespace {

constexpr Instant kNow{1s};

struct Bench {
  explicit Bench(DisplayRules rules = {}) : display(std::move(rules)) {}

  void show(std::uint32_t process, const std::string& text, Stream stream = Stream::out,
            Tail tail = Tail::waited) {
    display.show({wire::Output{process, static_cast<std::uint8_t>(stream), false, text, tail}, "node1"}, kNow,
                 writes);
  }
  /// What has been written to a stream since the last look at it.
  std::string look(Stream stream = Stream::out) {
    std::string bytes;
    std::erase_if(writes, [&](const DisplayWrite& write) {
      if (write.stream == stream) bytes += write.ink.bytes;
      return write.stream == stream;
    });
    return bytes;
  }

  Display display;
  DisplayWrites writes;
};

DisplayRules labelled(std::string_view label) {
  DisplayRules rules;
  rules.label = *Label::parse(label);
  return rules;
}

}  // namespace

TEST_CASE("stdout and stderr have a cursor each", "[display]") {
  Bench bench{{.screens = {ScreenKind::terminal, ScreenKind::terminal}}};
  bench.show(0, "AB");
  bench.show(1, "oops\n", Stream::err);
  CHECK(bench.look() == "AB");
  CHECK(bench.look(Stream::err) == "oops\n");
  CHECK(bench.display.next_deadline() == kNever);
}

TEST_CASE("if stdout and stderr are one terminal, they have one cursor", "[display]") {
  Bench bench{{.screens = {ScreenKind::terminal, ScreenKind::terminal}, .one_screen = true}};
  bench.show(0, "AB");
  bench.show(1, "oops\n", Stream::err);
  CHECK(bench.look() == "AB");
  bench.display.tick(bench.display.next_deadline(), bench.writes);
  CHECK(bench.look() == "\\\noops\n");
  bench.show(0, "CD");
  bench.display.say(Stream::err, "charmrun: news\n", kNow, bench.writes);
  CHECK(bench.look() == "\\CD\\\ncharmrun: news\n");
  CHECK(bench.look(Stream::err).empty());
}

TEST_CASE("each line gets the label, with the time when it was read", "[display]") {
  Bench bench{labelled("%r@%h %s: ")};
  bench.show(3, "a\nb\n");
  bench.show(4, "c\n", Stream::err);
  CHECK(bench.look() == "3@node1 stdout: a\n3@node1 stdout: b\n");
  CHECK(bench.look(Stream::err) == "4@node1 stderr: c\n");

  DisplayRules rules = labelled("%t ");
  rules.wall_ms = 5000;
  Bench timed{rules};
  wire::Output output{0, 1, false, "x\n"};
  output.read = kNow - 1s + 42ms;
  timed.display.show({output, ""}, kNow, timed.writes);
  CHECK(timed.look() == print_time(5042) + " x\n");
  timed.show(0, "y\n");
  CHECK(timed.look() == print_time(6000) + " y\n");
}

TEST_CASE("raw bytes are written as they come, with their receipts", "[display]") {
  Bench bench{{.screens = {ScreenKind::terminal, ScreenKind::terminal}}};
  wire::Output output{0, 1, true, "no newline"};
  bench.display.show({output, "", 2, true}, kNow, bench.writes);
  output.process = 1;
  bench.display.show({output, "", 2, true}, kNow, bench.writes);
  REQUIRE(bench.writes.size() == 2);
  CHECK(bench.writes[1].ink.receipts == std::vector<std::uint32_t>{1});
  CHECK(bench.look() == "no newlineno newline");
}

TEST_CASE("at the end nothing is held back", "[display]") {
  Bench bench{{.screens = {ScreenKind::terminal, ScreenKind::terminal}}};
  bench.show(0, "AB");
  bench.show(1, "CD\n");
  bench.display.finish(kNow, bench.writes);
  CHECK(bench.look() == "AB\\\nCD\n");
}

namespace {

DisplayRules folded(std::string_view label = "[%r] ") {
  DisplayRules rules;
  rules.screens = {ScreenKind::terminal, ScreenKind::terminal};
  rules.fold_label = *Label::parse(label);
  rules.fold_above = 1;
  return rules;
}

}  // namespace

TEST_CASE("equal lines of all processes are one, with their numbers", "[display]") {
  Bench bench{folded()};
  bench.show(1, "step 1\nstep 2\n");
  CHECK(bench.look().empty());
  bench.show(0, "step 1\n");
  CHECK(bench.look() == "[0-1] step 1\n");
  CHECK(bench.display.next_deadline() == kNow + 500ms);
  bench.display.tick(kNow + 500ms, bench.writes);
  CHECK(bench.look() == "[1]   step 2\n");
}

TEST_CASE("labels of folded lines are aligned", "[display]") {
  Bench bench{folded()};
  const auto show = [&](std::uint32_t process, const std::string& text, Stream stream = Stream::out) {
    bench.display.show({wire::Output{process, static_cast<std::uint8_t>(stream), false, text}, "n", 128},
                       kNow, bench.writes);
  };
  show(7, "a\n");
  show(127, "b\n");
  show(127, "name? ");
  CHECK(bench.look() == "[127]   b\n[127]   name? ");
  show(127, "x\n");
  CHECK(bench.look() == "x\n");
  for (const std::uint32_t process : {1U, 3U, 100U, 102U}) show(process, "c\n", Stream::err);
  bench.display.finish(kNow, bench.writes);
  CHECK(bench.look(Stream::err) == "[1,3,100,102] c\n");
  CHECK(bench.look() == "[7]           a\n");  // from here on as wide as the widest so far
}

TEST_CASE("stderr is folded as stdout is", "[display]") {
  Bench bench{folded()};
  bench.show(1, "Traceback\n  in f\n", Stream::err);
  CHECK(bench.look(Stream::err).empty());
  bench.show(0, "Traceback\n  in f\n", Stream::err);
  CHECK(bench.look(Stream::err) == "[0-1] Traceback\n[0-1]   in f\n");
  CHECK(bench.look().empty());
  bench.show(0, "where", Stream::err, Tail::prompt);
  CHECK(bench.look(Stream::err) == "[0]   where");
}

TEST_CASE("prompts and partial lines are not folded, and take along what came before", "[display]") {
  Bench bench{folded()};
  bench.show(0, "first\n");
  SECTION("on the other stream, too") {
    bench.show(0, "oops", Stream::err, Tail::prompt);
    CHECK(bench.look() == "[0]   first\n");
    CHECK(bench.look(Stream::err) == "[0]   oops");
  }
  SECTION("a prompt and its rest, which is no line to be folded") {
    bench.show(0, "second\nname? ", Stream::out, Tail::prompt);
    CHECK(bench.look() == "[0]   first\n[0]   second\n[0]   name? ");
    bench.show(0, "yes\nthird\n");
    CHECK(bench.look() == "yes\n");
    bench.display.finish(kNow, bench.writes);
    CHECK(bench.look() == "[0]   third\n");
  }
  SECTION("the last line, which has no newline") {
    bench.show(0, "end", Stream::out, Tail::ended);
    CHECK(bench.look() == "[0]   first\n[0]   end");
  }
  SECTION("our own words") {
    bench.display.say(Stream::err, "charmrun: news\n", kNow, bench.writes);
    CHECK(bench.look() == "[0]   first\n");
    CHECK(bench.look(Stream::err) == "charmrun: news\n");
  }
}

TEST_CASE("a job of few processes is not folded", "[display]") {
  DisplayRules rules = folded();
  rules.fold_above = 2;
  Bench bench{rules};
  bench.show(0, "line\n");
  CHECK(bench.look() == "line\n");
}

TEST_CASE("folded lines name all hosts", "[display]") {
  Bench bench{folded("%r@%h ")};
  for (const std::uint32_t process : {0U, 1U}) {
    wire::Output output{process, 1, false, "x\n"};
    bench.display.show({output, process == 0 ? "n1" : "n2"}, kNow, bench.writes);
  }
  CHECK(bench.look() == "0-1@n[1-2] x\n");
}

TEST_CASE("each process has its file, where nothing is torn or marked", "[display]") {
  DisplayRules rules;
  rules.file = *Label::parse("out/%h-%r", {"output", "rhs"});
  Bench bench{rules};
  bench.show(3, "AB");
  bench.show(4, "x\n");
  bench.show(3, "CD\n", Stream::err);
  REQUIRE(bench.writes.size() == 3);
  CHECK((bench.writes[0].file == "out/node1-3" && bench.writes[0].ink.bytes == "AB"));
  CHECK((bench.writes[1].file == "out/node1-4" && bench.writes[1].ink.bytes == "x\n"));
  CHECK((bench.writes[2].file == "out/node1-3" && bench.writes[2].ink.bytes == "CD\n"));
}

TEST_CASE("all files have a name before anything is written", "[display]") {
  Host host;
  host.name = "a/b";
  host.first_process = 2;
  host.processes = 2;
  for (const auto& [name, files] :
       {std::pair<std::string, std::vector<std::string>>{"%r.out", {"2.out", "3.out"}},
        {"%h.%r.%s", {"a_b.2.stdout", "a_b.2.stderr", "a_b.3.stdout", "a_b.3.stderr"}}}) {
    DisplayRules rules;
    rules.file = *Label::parse(name, {"output", "rhs"});
    Bench bench{rules};
    bench.display.name_files(std::span{&host, 1}, bench.writes);
    std::vector<std::string> named;
    for (const DisplayWrite& write : bench.writes) named.push_back(write.file);
    CHECK(named == files);
  }
}

TEST_CASE("lines in files have labels, too", "[display]") {
  DisplayRules rules = labelled("%s: ");
  rules.file = *Label::parse("%r", {"output", "rhs"});
  Bench bench{rules};
  bench.show(3, "AB");
  bench.show(3, "CD\nx\n");
  REQUIRE(bench.writes.size() == 2);
  CHECK(bench.writes[0].ink.bytes + bench.writes[1].ink.bytes == "stdout: ABCD\nstdout: x\n");
}

TEST_CASE("a line of progress stands at the end of a terminal's stderr until something is written",
          "[display]") {
  DisplayRules rules;
  rules.screens = {ScreenKind::file, ScreenKind::terminal};
  Bench bench{rules};
  bench.display.progress("1 of 2", bench.writes);
  CHECK(bench.look(Stream::err) == "\r\033[K1 of 2");
  bench.show(0, "out\n");
  CHECK(bench.look(Stream::err).empty());  // the output goes elsewhere
  bench.show(0, "err\n", Stream::err);
  CHECK(bench.look(Stream::err) == "\r\033[Kerr\n");
  bench.display.progress("2 of 2", bench.writes);
  bench.display.progress({}, bench.writes);
  bench.display.progress({}, bench.writes);
  CHECK(bench.look(Stream::err) == "\r\033[K2 of 2\r\033[K");
  bench.show(0, "a prompt: ", Stream::err);
  CHECK(bench.look(Stream::err) == "a prompt: ");
  bench.display.progress("2 of 2", bench.writes);
  CHECK(bench.look(Stream::err).empty());  // the cursor is the process's
}

TEST_CASE("where both streams are one terminal, output takes the progress away, and a pipe never sees any",
          "[display]") {
  DisplayRules rules;
  rules.screens = {ScreenKind::terminal, ScreenKind::terminal};
  rules.one_screen = true;
  Bench bench{rules};
  bench.display.progress("1 of 2", bench.writes);
  bench.show(0, "out\n");
  CHECK(bench.look() == "\r\033[K1 of 2\r\033[Kout\n");
  bench.display.progress("1 of 2", bench.writes);
  bench.look();
  bench.display.finish(kNow, bench.writes);
  CHECK(bench.look() == "\r\033[K");
  Bench pipe;
  pipe.display.progress("1 of 2", pipe.writes);
  CHECK(pipe.writes.empty());
}

}  // namespace charmtree::display_test
