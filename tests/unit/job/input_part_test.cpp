// SPDX-License-Identifier: Apache-2.0
#include "tree/job/input_part.hpp"

#include "tests/unit/part_bench.hpp"

namespace charmtree::input_part_test {

using namespace charmtree::proto;

namespace {

struct Bench final : test::PartBench {
  explicit Bench(wire::JobSpec of) : PartBench(Role::below, std::move(of)) {}
  InputPart part;
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

TEST_CASE("input goes to the launcher of the process that has it", "[input_part]") {
  Bench b{with_reader(5)};
  b.part.down(wire::Input{"text\n", false}, b);
  b.part.down(wire::RecallInput{}, b);
  b.part.down(wire::Resize{}, b);
  REQUIRE(b.handed_to_process.size() == 3);
  for (const auto& [process, message] : b.handed_to_process) CHECK(process == 5);
  CHECK(get<wire::Input>(b.handed_to_process[0].second).bytes == "text\n");
  CHECK(holds_alternative<wire::RecallInput>(b.handed_to_process[1].second));
  CHECK(holds_alternative<wire::Resize>(b.handed_to_process[2].second));
}

TEST_CASE("what one reader has taken goes up as it is", "[input_part]") {
  Bench b{with_reader(5)};
  b.part.up(1, {7}, b);
  b.part.on(InputWritten{0, 3}, b);
  REQUIRE(b.told_up.size() == 2);
  CHECK(get<wire::InputTaken>(b.told_up[0]).bytes == 7);
  CHECK(get<wire::InputTaken>(b.told_up[1]).bytes == 3);
}

TEST_CASE("of copies, as much has been taken as by the slowest who still takes any", "[input_part]") {
  Bench b{with_copies()};
  const LinkId slow = b.child(), fast = b.child();
  b.part.down(wire::Input{"12345678", false}, b);
  CHECK(b.handed_to_all.size() == 1);
  b.part.up(fast, {8}, b);
  CHECK(b.told_up.empty());
  b.part.up(slow, {5}, b);
  REQUIRE(b.told_up.size() == 1);
  CHECK(get<wire::InputTaken>(b.told_up[0]).bytes == 5);
  b.part.lost(slow, b);
  REQUIRE(b.told_up.size() == 2);
  CHECK(get<wire::InputTaken>(b.told_up[1]).bytes == 3);
}

TEST_CASE("copies end everywhere when scanf gets the input", "[input_part]") {
  Bench b{with_copies()};
  b.part.down(wire::RecallInput{}, b);
  REQUIRE(b.handed_to_all.size() == 1);
  CHECK(holds_alternative<wire::RecallInput>(b.handed_to_all[0]));
  CHECK(b.handed_to_process.empty());
}

}  // namespace charmtree::input_part_test
