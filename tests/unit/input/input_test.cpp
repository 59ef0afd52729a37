// SPDX-License-Identifier: Apache-2.0
#include "input/component.hpp"

#include "tests/unit/part_bench.hpp"

namespace charmtree::input_test {

using namespace charmtree::proto;
using namespace charmtree::input;

namespace {

struct Bench final : test::PartBench {
  explicit Bench(wire::JobSpec of) : PartBench(Role::below, std::move(of)) {}
  InputComponent part;
};

wire::JobSpec with_reader(std::uint32_t process) {
  wire::JobSpec job;
  job.input.process = process;
  return job;
}

wire::JobSpec with_copies() {
  wire::JobSpec job;
  job.input.to_all = true;
  return job;
}

}  // namespace

TEST_CASE("input goes to the launcher of the process that has it", "[input]") {
  Bench b{with_reader(5)};
  b.part.down(Input{"text\n", false}, b);
  b.part.down(RecallInput{}, b);
  b.part.down(Resize{}, b);
  REQUIRE(b.handed_to_process.size() == 3);
  for (const auto& [process, message] : b.handed_to_process) CHECK(process == 5);
  CHECK(get<Input>(b.handed_to_process[0].second).bytes == "text\n");
  CHECK(holds_alternative<RecallInput>(b.handed_to_process[1].second));
  CHECK(holds_alternative<Resize>(b.handed_to_process[2].second));
}

TEST_CASE("what a single reader has taken is reported as it is", "[input]") {
  Bench b{with_reader(4)};
  const LinkId link = b.child();
  b.part.up(link, InputTaken{7}, b);
  b.part.on(InputWritten{0, 3}, b);
  REQUIRE(b.told_up.size() == 2);
  CHECK(get<InputTaken>(b.told_up[0]).bytes == 7);
  CHECK(get<InputTaken>(b.told_up[1]).bytes == 3);
}

TEST_CASE("of copies, as much counts as taken as the slowest taker has taken", "[input]") {
  Bench b{with_copies()};
  const LinkId slow = b.child(), fast = b.child();
  b.part.down(Input{"12345678", false}, b);
  CHECK(b.handed_to_all.size() == 1);
  b.part.up(fast, InputTaken{8}, b);
  CHECK(b.told_up.empty());
  b.part.up(slow, InputTaken{5}, b);
  REQUIRE(b.told_up.size() == 1);
  CHECK(get<InputTaken>(b.told_up[0]).bytes == 5);
  b.part.child_lost(b.launch.children().at(slow), slow, b);
  REQUIRE(b.told_up.size() == 2);
  CHECK(get<InputTaken>(b.told_up[1]).bytes == 3);
}

TEST_CASE("a child that does not lead to the reader can neither take input nor give it back", "[input]") {
  Bench b{with_reader(4)};
  const LinkId reader = b.child(), other = b.child();
  b.part.up(reader, InputReturned{"rest"}, b);
  CHECK(b.told_up.size() == 1);
  CHECK(b.given_up.empty());
  SECTION("take") {
    b.part.up(other, InputTaken{1}, b);
  }
  SECTION("give back") {
    b.part.up(other, InputReturned{"mine"}, b);
  }
  CHECK(b.told_up.size() == 1);
  REQUIRE(b.given_up.size() == 1);
  CHECK(b.given_up[0].first == other);
}

TEST_CASE("when the process for which the user types has ended, its input comes back", "[input]") {
  Bench b{with_reader(0)};
  b.part.on(InputReaderGone{}, b);
  REQUIRE(b.told_up.size() == 1);
  CHECK(get<InputReturned>(b.told_up[0]).bytes.empty());
}

TEST_CASE("copies end everywhere when scanf gets the input", "[input]") {
  Bench b{with_copies()};
  b.part.down(RecallInput{}, b);
  REQUIRE(b.handed_to_all.size() == 1);
  CHECK(holds_alternative<RecallInput>(b.handed_to_all[0]));
  CHECK(b.handed_to_process.empty());
}

}  // namespace charmtree::input_test
