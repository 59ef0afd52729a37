// SPDX-License-Identifier: Apache-2.0
#include "debug/answer_set.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "debug/members.hpp"
#include "tree/wire/message_limits.hpp"
#include "tree/wire/message_members.hpp"

namespace charmtree::answer_set_test {

using namespace charmtree::debug;
using Kind = AnswerSet::Kind;
using Ranges = AnswerSet::Ranges;

namespace {

/// What a person reads: "0-3 x = 5".
std::vector<std::string> read(AnswerSet& set) {
  std::vector<std::string> lines;
  for (const debug::DebugAnswer& answer : set.take().answers) {
    REQUIRE(is_sound(answer));
    const wire::ProcessSet which{answer.which};
    lines.push_back(which.print() + " " + shown(answer));
  }
  return lines;
}
using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("the same answers are one, and a few that differ stay apart", "[debug]") {
  AnswerSet set;
  for (std::uint32_t process = 0; process < 6; ++process) set.add(Kind::said, "x = 5", process);
  set.add(Kind::said, "x = 7", 6);
  set.add(Kind::stopped, "x = 5", 7);
  CHECK(read(set) == Lines{"0-5 x = 5", "6 x = 7", "7 x = 5"});
  CHECK(set.empty());
}

TEST_CASE("numbers that differ in many answers become a range", "[debug]") {
  AnswerSet set;
  for (std::uint32_t process = 0; process < 9; ++process)
    set.add(Kind::said,
            fmt::format("rank = {}, at 0x{:x}, t2 = {}.5, size 9", process, 255 + process,
                        4 - static_cast<int>(process)),
            process);
  CHECK(read(set) == Lines{"0-8 rank = {0..8}, at {0xff..0x107}, t2 = {-4.5..4.5}, size 9"});
  SECTION("but each one is shown where that is wanted") {
    set.keep_apart(true);
    for (std::uint32_t process = 0; process < 9; ++process)
      set.add(Kind::said, fmt::format("{}", process), process);
    CHECK(read(set).size() == 9);
  }
}

TEST_CASE("what launchers have added up is added up again", "[debug]") {
  AnswerSet one, other, both;
  for (std::uint32_t process = 0; process < 8; ++process) {
    (process < 4 ? one : other).add(Kind::said, fmt::format("a {} b 3", 10 * process), process);
    if (process >= 4) other.add(Kind::said, fmt::format("a {} b 3", 100 + process), 10 + process);
  }
  const bool other_first = GENERATE(false, true);
  const debug::DebugAnswers first = one.take(), second = other.take();
  CHECK((first.answers.size() == 4 && second.answers.size() == 1));
  both.add(other_first ? second : first);
  both.add(other_first ? first : second);
  CHECK(read(both) == Lines{"0-7,14-17 a {0..107} b 3"});
}

TEST_CASE("digits of names and whatever is no number stay text", "[debug]") {
  AnswerSet set;
  for (std::uint32_t process = 0; process < 10; ++process)
    set.add(Kind::said, fmt::format("f{} x1 0x v1.2 \x1a 1e9 5-{}", process % 2, process), process);
  CHECK(read(set) ==
        Lines{"0,2,4,6,8 f0 x1 0x v1.2 ? 1e9 5-{0..8}", "1,3,5,7,9 f1 x1 0x v1.2 ? 1e9 5-{1..9}"});
}

TEST_CASE("there is a limit to everything", "[debug]") {
  AnswerSet set;
  set.keep_apart(true);
  const std::string long_text(3 * debug::kMostDebugText, 'x');
  set.add(Kind::said, long_text, 0);
  std::string numbers;
  for (int i = 0; i < 500; ++i) numbers += fmt::format("{} ", i);
  set.add(Kind::said, numbers, 1);
  for (std::uint32_t process = 2; process < 2000; ++process)
    set.add(Kind::said, std::string(800, 'y') + fmt::format(" {}", process), process);
  AnswerSet sum;
  sum.keep_apart(true);
  for (int i = 0; i < 3; ++i) {
    const debug::DebugAnswers all = i == 0 ? set.take() : sum.take();
    CHECK((all.answers.size() <= debug::kMostDebugAnswers && all.left_out > 1000));
    CHECK(all.answers.front().text.size() == debug::kMostDebugText);
    CHECK(wire::encode_whole(all)->size() < debug::kMaxDebug);
    REQUIRE(wire::decode_whole<debug::DebugAnswers>(*wire::encode_whole(all)));
    sum.add(all);
  }
}

TEST_CASE("so many ranges of numbers as there may be are added up without harm", "[debug]") {
  AnswerSet set, sum;
  for (std::uint32_t process = 0; process < 6; ++process) {
    std::string numbers;
    for (std::uint32_t i = 0; i < 100; ++i) numbers += fmt::format("{} ", i % 2 == 0 ? i : i * process);
    set.add(Kind::said, numbers, process);
  }
  for (const std::uint32_t more : {0U, 7U}) {
    debug::DebugAnswers all = set.take();
    if (more > 0) all = sum.take();
    for (debug::DebugAnswer& answer : all.answers) answer.which = {{more, more + answer.processes - 1}};
    sum.add(all);
  }
  for (const debug::DebugAnswer& answer : sum.take().answers)
    CHECK((is_sound(answer) && answer.spans.size() <= debug::kMostDebugSpans));
}

}  // namespace charmtree::answer_set_test
