// SPDX-License-Identifier: Apache-2.0
#include "charmrun/debug/prompt.hpp"

#include <catch2/catch.hpp>

namespace charmtree::prompt_test {

using Kind = debug::DebugAnswer::Kind;
using What = debug::DebugOrder::What;
using Ranges = std::vector<wire::ProcessSet::Range>;

namespace {

Prompt prompt_of(std::uint32_t processes) {
  Prompt prompt{*read_processes("all", processes)};
  const debug::DebugOrder begin = prompt.begin();
  prompt.heard({1, begin.number, {}});
  return prompt;
}

}  // namespace

TEST_CASE("processes are named as everywhere", "[debug]") {
  CHECK(read_processes("0-3,7", 8)->print() == "0-3,7");
  CHECK(read_processes("", 8)->print() == "0-7");
  CHECK(read_processes(" 5 , 2", 8)->print() == "2,5");
  for (const char* bad : {"8", "3-2", "x", "1,", "-1", "1-", "0-8", "99999999999"})
    CHECK(!read_processes(bad, 8));
}

TEST_CASE("what is typed goes to those in focus, and what they say is shown once", "[debug]") {
  Prompt prompt = prompt_of(8);
  CHECK(prompt.text() == "(gdb 0-7) ");
  const auto deed = prompt.typed("  print x ");
  REQUIRE(deed.order);
  CHECK((deed.order->line == "print x" && deed.order->which == Ranges{{0, 7}} && !deed.order->each));
  CHECK(prompt.is_waiting());
  CHECK(prompt.heard({1, 0, {{{Kind::said, "= 3", {}, 4, {{0, 3}}}}, 0}}).empty());
  CHECK(prompt.so_far() == "[0-3] = 3\n4 of 8 have answered; Ctrl-C stops the others\n");
  CHECK(prompt.heard({1, deed.order->number, {{{Kind::said, "#0 f\n#1 \x1b[m", {}, 4, {{4, 7}}}}, 0}}) ==
        "[4-7]\n    #0 f\n    #1 \\x1b[m\n");
  CHECK(!prompt.is_waiting());
  SECTION("an empty line is the last one") {
    CHECK(prompt.typed("").order->line == "print x");
  }
  SECTION("each") {
    const auto each = prompt.typed("each bt");
    CHECK((each.order->each && each.order->line == "bt"));
  }
  SECTION("what nobody has asked for is shown at once") {
    CHECK(prompt.heard({1, 0, {{{Kind::stopped, "stopped.", {}, 1, {{2, 2}}}}, 0}}) == "[2] stopped.\n");
  }
}

TEST_CASE("focus", "[debug]") {
  Prompt prompt = prompt_of(8);
  CHECK(prompt.typed("focus 2,4-5").text.empty());
  CHECK(prompt.text() == "(gdb 2,4-5) ");
  CHECK(prompt.typed("").order == std::nullopt);
  CHECK(prompt.typed("focus 9").text.find("list of processes") != std::string::npos);
  CHECK(prompt.text() == "(gdb 2,4-5) ");
  prompt.heard({1, 0, {{{Kind::gone, "has ended", {}, 1, {{4, 4}}}}, 0}});
  CHECK(prompt.text() == "(gdb 2,5) ");
  CHECK(prompt.typed("focus 4-6").text == "4: not held by this prompt, which has 0-3,5-7\n");
  prompt.typed("focus all");
  CHECK(prompt.text() == "(gdb 0-3,5-7) ");
  prompt.heard({1, 0, {{{Kind::gone, "has ended", {}, 7, {{0, 3}, {5, 7}}}}, 0}});
  CHECK(prompt.is_over());
}

TEST_CASE("Ctrl-C stops those that run, and twice gives the prompt back", "[debug]") {
  Prompt prompt = prompt_of(2);
  prompt.typed("continue");
  const auto first = prompt.interrupted();
  REQUIRE(first.order);
  CHECK((first.order->what == What::interrupt && prompt.is_waiting()));
  CHECK(!prompt.interrupted().order);
  CHECK(!prompt.is_waiting());
}

TEST_CASE("words of the prompt itself", "[debug]") {
  Prompt prompt = prompt_of(2);
  CHECK(prompt.typed("help").text.find("focus") != std::string::npos);
  CHECK(prompt.typed("help break").order->line == "help break");
  CHECK(prompt_of(2).typed("quit").leaves);
  CHECK(prompt_of(2).typed("detach").leaves);
}

}  // namespace charmtree::prompt_test
