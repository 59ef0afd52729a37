// SPDX-License-Identifier: Apache-2.0
// Barriers of groups (PMI 1.2), beside the plain one.
#include <catch2/catch.hpp>

#include "tests/unit/pmi_bench.hpp"

namespace charmtree::pmi_barriers_test {

using namespace charmtree::proto;
using Ranges = std::vector<wire::ProcessSet::Range>;

namespace {

/// Processes 2 and 3 of 4, which have said init.
struct Bench : test::PmiBench {
  Bench() : PmiBench(4) {
    for (const std::uint32_t process : {2U, 3U}) {
      connect(process);
      ask(process, "cmd=init pmi_version=1 pmi_subversion=1");
    }
  }
  std::string ask(std::uint32_t process, const std::string& line) {
    outputs.clear();
    server.received(10 + process, line + "\n", {}, outputs);
    return said_to(process);
  }
  /// The one fence that it begins.
  FenceEntered begins(std::uint32_t process, const std::string& line) {
    CHECK(ask(process, line).empty());
    const auto all = test::only<FenceEntered>(outputs);
    REQUIRE(all.size() == 1);
    return all[0];
  }
  void over(const wire::Fence& fence, const std::string& given = {}, const std::string& failure = {}) {
    outputs.clear();
    server.fenced({fence, failure, std::make_shared<const std::string>(given)}, outputs);
  }
  std::string both() const { return said_to(2) + said_to(3); }
};

}  // namespace

TEST_CASE("a group with others is a fence of its own, in which only its processes are", "[pmi]") {
  Bench b;
  b.ask(2, "cmd=put kvsname=k key=a value=1");
  b.ask(3, "cmd=put kvsname=k key=b value=2");
  const FenceEntered up = b.begins(2, "cmd=barrier_in group=2,0:7");
  CHECK(up.processes == 1);
  CHECK(up.fence == wire::Fence{kPmiService, {{0, 0}, {2, 2}}, 1, ":7"});
  CHECK(up.given == Bench::pair("a", "1"));
  b.over(up.fence, Bench::pair("far", "x"));
  CHECK(b.both() == "cmd=barrier_out rc=0 tag=7\n");
  CHECK(b.ask(3, "cmd=get kvsname=k key=far") == "cmd=get_result rc=0 value=x\n");
  CHECK(b.begins(2, "cmd=barrier_in group=2,0:7").fence.number == 2);
  b.ask(3, "cmd=barrier_in");
  CHECK(b.begins(2, "cmd=barrier_in").given == Bench::pair("a", "1") + Bench::pair("b", "2"));
}

TEST_CASE("a process is in several barriers at a time, and asks meanwhile", "[pmi]") {
  Bench b;
  const wire::Fence first = b.begins(2, "cmd=barrier_in group=0,2:1").fence;
  const wire::Fence second = b.begins(2, "cmd=barrier_in group=0,2:2").fence;
  const wire::Fence third = b.begins(2, "cmd=barrier_in group=1,2:1").fence;
  CHECK(b.ask(2, "cmd=barrier_in").empty());
  CHECK(b.ask(2, "cmd=put kvsname=k key=late value=1") == "cmd=put_result rc=0\n");
  const FenceEntered plain = b.begins(3, "cmd=barrier_in");
  CHECK(plain.given == Bench::pair("late", "1"));
  CHECK(b.ask(2, "cmd=put kvsname=k key=later value=2") == "cmd=put_result rc=0\n");
  b.over(third);
  CHECK(b.both() == "cmd=barrier_out rc=0 tag=1\n");
  // What is on its way to all may come to the group first.
  CHECK(b.begins(2, "cmd=barrier_in group=1,2:1").given ==
        Bench::pair("late", "1") + Bench::pair("later", "2"));
  b.over(second);
  CHECK(b.both() == "cmd=barrier_out rc=0 tag=2\n");
  b.over(plain.fence);
  CHECK(b.both() == "cmd=barrier_out rc=0 tag=0\ncmd=barrier_out rc=0 tag=0\n");
  b.ask(2, "cmd=barrier_in");
  CHECK(b.begins(3, "cmd=barrier_in").given == Bench::pair("later", "2"));
  b.over(first);
  CHECK(b.both() == "cmd=barrier_out rc=0 tag=1\n");
}

TEST_CASE("a barrier may be entered anew before the others have left it", "[pmi]") {
  Bench b;
  CHECK(b.ask(2, "cmd=barrier_in group=WORLD:5").empty());
  CHECK(b.ask(2, "cmd=barrier_in group=WORLD:5").empty());
  CHECK(test::only<FenceEntered>(b.outputs).empty());
  const FenceEntered first = b.begins(3, "cmd=barrier_in group=WORLD:5");
  CHECK((first.fence.number == 1 && first.processes == 2 && first.fence.name == ":5"));
  CHECK(b.ask(3, "cmd=barrier_in group=WORLD:5").empty());
  CHECK(test::only<FenceEntered>(b.outputs).empty());
  b.over(first.fence);
  CHECK(b.both() == "cmd=barrier_out rc=0 tag=5\ncmd=barrier_out rc=0 tag=5\n");
  const auto next = test::only<FenceEntered>(b.outputs);
  REQUIRE(next.size() == 1);
  CHECK((next[0].fence.number == 2 && next[0].processes == 2));
}

TEST_CASE("a group of this host alone needs no fence of the job", "[pmi]") {
  for (const std::string group : {"NODE:4", "2,3:4", "3,2:4"}) {
    Bench b;
    CHECK(b.ask(2, "cmd=barrier_in group=" + group).empty());
    b.ask(3, "cmd=barrier_in group=" + group);
    CHECK(b.both() == "cmd=barrier_out rc=0 tag=4\ncmd=barrier_out rc=0 tag=4\n");
    CHECK(test::only<FenceEntered>(b.outputs).empty());
    CHECK(b.ask(2, "cmd=barrier_in group=2:9") == "cmd=barrier_out rc=0 tag=9\n");
    CHECK(b.ask(2, "cmd=barrier_in group=" + group).empty());
    b.server.lost({{3, 3}}, b.outputs);
    CHECK(b.said_to(2) == "cmd=barrier_out rc=1 tag=4 msg=process_3_is_lost\n");
  }
}

TEST_CASE("a group's barrier fails where a process is lost, even before it is entered", "[pmi]") {
  Bench b;
  const wire::Fence fence = b.begins(2, "cmd=barrier_in group=1,2:1").fence;
  b.over(fence, {}, "process 1 is lost");
  CHECK(b.both() == "cmd=barrier_out rc=1 tag=1 msg=process_1_is_lost\n");
  b.over({kPmiService, {{1, 1}, {3, 3}}, 1, ":1"}, {}, "process 1 is lost");
  CHECK(b.both().empty());
  CHECK(b.ask(3, "cmd=barrier_in group=1,3:1") == "cmd=barrier_out rc=1 tag=1 msg=process_1_is_lost\n");
  b.over({kPmiService, {{0, 1}}, 1, ":1"}, Bench::pair("a", "of others"), {});
  CHECK(b.ask(3, "cmd=get kvsname=k key=a").starts_with("cmd=get_result rc=1"));
}

TEST_CASE("a group that is none ends who says it, and nobody else", "[pmi]") {
  for (const std::string group :
       {"0,1:1", "2,4:1", "2,2,0:1", "2,x:1", "NODES:1", "NODE:x", "2,0:", "2,0:-1", "-1,2:1"}) {
    CAPTURE(group);
    Bench b;
    b.ask(2, "cmd=barrier_in group=" + group);
    CHECK(b.lost() == "it spoke to its launcher (PMI) as no MPI library does: a barrier of '" + group +
                          "', in which it is not");
    CHECK(b.ask(3, "cmd=get_appnum") == "cmd=appnum rc=0 appnum=0\n");
  }
  Bench b;
  for (std::size_t i = 0; i < wire::kMostFencesAtOnce; ++i)
    CHECK(b.ask(2, "cmd=barrier_in group=0,2:" + std::to_string(i)).empty());
  b.ask(2, "cmd=barrier_in");
  CHECK(b.lost().ends_with("it is in too many barriers"));
  Bench c;
  c.ask(2, "cmd=barrier_in group=0,2:1");
  c.ask(2, "cmd=finalize");
  CHECK(c.lost().ends_with("finalize in a barrier"));
}

}  // namespace charmtree::pmi_barriers_test
