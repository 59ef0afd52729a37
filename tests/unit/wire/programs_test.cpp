// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/programs.hpp"

#include <catch2/catch.hpp>
#include <tuple>

#include "tree/wire/messages.hpp"

namespace charmtree::programs_test {

namespace {

using namespace wire;

std::vector<FurtherProgram> further(std::vector<std::uint32_t> firsts) {
  std::vector<FurtherProgram> all;
  for (const std::uint32_t first : firsts) all.push_back({first, {"./b"}, {}});
  return all;
}

}  // namespace

TEST_CASE("each process runs the program that begins before it") {
  const auto programs = further({2, 5});
  CHECK(first_processes(programs) == std::vector<std::uint32_t>{0, 2, 5});
  for (const auto& [process, number] :
       {std::pair{0U, 0U}, {1U, 0U}, {2U, 1U}, {4U, 1U}, {5U, 2U}, {9U, 2U}}) {
    CHECK(program_of(programs, process) == number);
    CHECK(program_of(first_processes(programs), process) == number);
  }
  CHECK(program_of(further({}), 7) == 0);
}

TEST_CASE("a world is the programs from where it begins to the next one") {
  auto programs = further({2, 5, 7, 9});
  programs[1].begins_world = programs[3].begins_world = true;
  for (const auto& [process, first, size] :
       {std::tuple{0U, 0U, 5U}, {4U, 0U, 5U}, {5U, 5U, 4U}, {8U, 5U, 4U}, {9U, 9U, 3U}, {11U, 9U, 3U}}) {
    const World world = world_of(programs, 12, process);
    CHECK((world.first == first && world.size == size));
  }
  CHECK(world_of({}, 12, 7).size == 12);
}

TEST_CASE("a job is divided among programs that each have a process and a file on every host") {
  CHECK(is_division({}, 0));
  CHECK(is_division(further({1, 3}), 4));
  for (const auto& wrong : {further({0}), further({2, 2}), further({3, 1}), further({4})})
    CHECK_FALSE(is_division(wrong, 4));
  CHECK_FALSE(is_division({{1, {}, {}}}, 4));
  JobSpec job;
  job.arguments = {"./a"};
  job.processes = 4;
  job.profiles.resize(1);
  job.spawn.further = further({1});
  CHECK_FALSE(decode_job(*encode(job)).ok());
  job.profiles[0].further_programs = {"/b"};
  CHECK(decode_job(*encode(job)).ok());
  job.processes = 1;
  CHECK_FALSE(decode_job(*encode(job)).ok());
}

}  // namespace charmtree::programs_test
