// SPDX-License-Identifier: Apache-2.0
#include "charmrun/report/stack_tree.hpp"

#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "stacks/stack_frames.hpp"
#include "stacks/stack_set.hpp"

namespace charmtree::stack_tree_test {

using namespace charmtree::proto;
using namespace charmtree::stacks;

namespace {

std::vector<Host> four_hosts(std::uint32_t each) {
  std::vector<Host> hosts(4);
  for (std::uint32_t i = 0; i < 4; ++i) {
    hosts[i].index = i;
    hosts[i].name = "h0" + std::to_string(i);
    hosts[i].first_process = i * each;
    hosts[i].processes = each;
  }
  return hosts;
}

StackReport told(std::uint32_t processes, const std::vector<Host>& hosts, const stacks::Stacks& stacks) {
  JobStatus status;
  status.processes = processes;
  return stack_report("job", status, hosts, stacks);
}

/// 16 processes on 4 hosts, one of which does something else.
stacks::Stacks one_is_stuck() {
  StackSet set;
  for (std::uint32_t i = 0; i < 16; ++i) {
    if (i == 7)
      set.add(i, {"main", "step", "forever"}, Motion::computes);
    else
      set.add(i, {"main", "step", "exchange", "MPI_Recv"}, Motion::waits);
  }
  return set.take();
}

}  // namespace

TEST_CASE("the text shows what is common once, and where the odd one is", "[stacks]") {
  const stacks::Stacks stacks = one_is_stuck();
  const std::vector<Host> hosts = four_hosts(4);
  CHECK(stack_lines(told(16, hosts, stacks)) ==
        std::vector<std::string>{"what 16 processes of job job do, in 2 groups:", "16:[0-15] main > step",
                                 "  15:[0-6,8-15] exchange > MPI_Recv  [waits] (++gdb :0)",
                                 "  1:[7] forever  [computes] on h01 (++gdb :7)"});
}

TEST_CASE("a job that a crash ends did something, and nobody goes on from there", "[stacks]") {
  StackSet set;
  set.add(0, {"main", "wait"}, Motion::waits);
  set.add(2, {"main", "step", "at step.cpp:7"}, Motion::crashed);
  StackReport report = told(3, four_hosts(1), set.take());
  report.is_last = true;
  CHECK(stack_lines(report) ==
        std::vector<std::string>{"what 2 of 3 processes of job job did then, in 2 groups:", "2:[0,2] main",
                                 "  1:[0] wait  [waits] on h00",
                                 "  1:[2] step > at step.cpp:7  [crashed] on h02"});
}

TEST_CASE("of a process that was moved the host is told where it is", "[stacks]") {
  JobStatus status;
  status.processes = 16;
  status.moved.move(7, 3);
  const auto report = stack_report("job", status, four_hosts(4), one_is_stuck());
  CHECK(report.hosts == std::vector<std::string>{"", "h03"});
}

TEST_CASE("a stack that others go on from stands by itself, and what is unknown is told", "[stacks]") {
  StackSet set;
  set.add(0, {"main"}, Motion::moves);
  set.add(1, {"main", "wait"}, Motion::waits);
  set.add_unread({{2, 9}}, "its launcher is lost");
  const stacks::Stacks stacks = set.take();
  const std::vector<Host> hosts = four_hosts(3);
  const auto lines = stack_lines(told(12, hosts, stacks));
  CHECK(lines == std::vector<std::string>{"what 10 of 12 processes of job job do, in 3 groups:",
                                          "8:[2-9] its launcher is lost (its stack is not known)",
                                          "2:[0-1] main", "  1:[0] (here)  [moves] on h00 (++gdb :0)",
                                          "  1:[1] wait  [waits] on h00 (++gdb :1)"});
  const stacks::Stacks none;
  CHECK(stack_lines(told(12, hosts, none)) == std::vector<std::string>{"no process of job job runs"});
}

TEST_CASE("the text has at most 25 lines of at most 100 letters", "[stacks]") {
  StackSet set;
  std::uint32_t process = 0;
  SECTION("of a deep tree") {
    for (int i = 0; i < 40; ++i) {
      Frames frames{"main"};
      for (int depth = 0; depth < 12; ++depth)
        frames.push_back("f" + std::to_string(i >> depth) + std::string(20, 'x'));
      set.add(process++, frames, Motion::waits);
    }
  }
  SECTION("of a wide one") {
    for (int i = 0; i < 200; ++i) set.add(process++, {"f" + std::to_string(i)}, Motion::waits);
  }
  const stacks::Stacks stacks = set.take();
  const auto lines = stack_lines(told(process, four_hosts(1), stacks));
  CHECK(lines.size() <= kMostStackLines);
  for (const std::string& line : lines) CHECK(line.size() <= 130);
}

TEST_CASE("names from a process cannot speak to the terminal", "[stacks]") {
  StackSet set;
  set.add(0, {"main", "\x1b[2J\nevil"}, Motion::waits);
  const stacks::Stacks stacks = set.take();
  const std::vector<Host> hosts = four_hosts(1);
  for (const StackFormat format : {StackFormat::text, StackFormat::json, StackFormat::dot, StackFormat::svg})
    CHECK(show_stacks(told(1, hosts, stacks), format).find('\x1b') == std::string::npos);
}

TEST_CASE("JSON, a graph and a picture say the same", "[stacks]") {
  const stacks::Stacks stacks = one_is_stuck();
  const std::vector<Host> hosts = four_hosts(4);
  const StackReport report = told(16, hosts, stacks);
  const auto json = nlohmann::json::parse(show_stacks(report, StackFormat::json));
  CHECK((json["seen"] == 16 && json["groups"].size() == 2));
  CHECK(json["groups"][1] == nlohmann::json{{"processes", 1},
                                            {"which", "7"},
                                            {"motion", "computes"},
                                            {"hosts", "h01"},
                                            {"frames", {"main", "step", "forever"}}});
  const std::string dot = show_stacks(report, StackFormat::dot);
  CHECK(dot.find(R"(label="15:[0-6,8-15]", bv="[0-6,8-15]", count="15", rep="0")") != std::string::npos);
  CHECK(dot.find(R"(function="forever")") != std::string::npos);
  CHECK(dot.find(R"x(0 [pos="0,0", label="/", fillcolor="#808080", function="/", source="(null)")x") !=
        std::string::npos);
  const std::string svg = show_stacks(report, StackFormat::svg);
  CHECK((svg.starts_with("<svg ") && svg.find("1 processes: 7, computes") != std::string::npos));
}

TEST_CASE("a picture of more processes than it is wide is as wide as another", "[stacks]") {
  StackSet set;
  for (std::uint32_t i = 0; i < 2400; ++i) set.add(i, {"main", i < 600 ? "left" : "right"}, Motion::waits);
  const stacks::Stacks stacks = set.take();
  const std::string svg = show_stacks(told(2400, four_hosts(600), stacks), StackFormat::svg);
  CHECK(svg.find(R"(width="300.0")") != std::string::npos);
  CHECK(svg.find(R"(width="900.0")") != std::string::npos);
}

TEST_CASE("STATview reads a graph of sets that are not known whole, and of C++ names", "[stacks]") {
  StackSet set;
  for (std::uint32_t process = 0; process < 140; ++process)
    set.add(process, {"main", process % 2 == 0 ? "even" : "Odd<int>::operator|{\"a\\b\"}"}, Motion::waits);
  const stacks::Stacks stacks = set.take();
  const std::string dot = show_stacks(told(140, four_hosts(1), stacks), StackFormat::dot);
  CHECK(dot.find(R"x(label="70:[0,2,4,6,...]", bv="(null)", count="70", rep="0")x") != std::string::npos);
  CHECK(dot.find("bv=\"[") == dot.find(R"(bv="[0-139]")"));
  CHECK(dot.find(R"x(label="Odd\<int\>::operator\|(_a_b_)")x") != std::string::npos);
  CHECK(dot.find(R"x(function="Odd<int>::operator\|(_a_b_)")x") != std::string::npos);
}

}  // namespace charmtree::stack_tree_test
