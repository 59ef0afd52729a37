// SPDX-License-Identifier: Apache-2.0
// One gdb that holds several processes, by what gdb 13 has said in such a session.
#include "debug/gdb_driver.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>

namespace charmtree::gdb_driver_test {

using namespace charmtree::debug;
using Kind = AnswerSet::Kind;
using What = debug::DebugOrder::What;
using Lines = std::vector<std::string>;

namespace {

/// Processes 4, 5, ... with a gdb that answers what it is told to.
class Gdb {
public:
  explicit Gdb(std::uint32_t processes) : driver_(subjects(processes)) {}

  void order(What what, const std::string& line = {}, wire::ProcessSet::Range which = {0, 99},
             bool each = false) {
    driver_.order({1, ++number_, what, each, line, {which}}, out_);
  }
  void hear(const std::string& line) { driver_.heard(line, out_); }
  /// Takes hold of processes 4, 5, ...; each has one thread, or two.
  void attach(std::uint32_t processes, bool two_threads = false) {
    order(What::begin);
    REQUIRE(told().size() == 2 * processes - 1);
    std::uint32_t token = 0;
    for (std::uint32_t i = 1; i <= processes; ++i) {
      if (i > 1) hear(fmt::format("{}^done,inferior=\"i{}\"", ++token, i));
      for (const std::uint32_t thread : threads_of(i, two_threads))
        hear(fmt::format("=thread-created,id=\"{}\",group-id=\"i{}\"", thread, i));
      hear(fmt::format("{}^done", ++token));
      for (const std::uint32_t thread : threads_of(i, two_threads)) stop(thread, "main () at a.c:1\\n", "");
    }
    CHECK(done() == number_);
    CHECK(said().size() == 1);
  }
  void stop(std::uint32_t thread, const std::string& text, const std::string& reason = "breakpoint-hit") {
    if (!text.empty()) hear("~\"" + text + "\"");
    const std::string more =
        reason == "0" ? "reason=\"signal-received\",signal-name=\"0\"," : "reason=\"" + reason + "\",";
    hear(fmt::format("*stopped,{}thread-id=\"{}\",stopped-threads=[\"{}\"]", reason.empty() ? "" : more,
                     thread, thread));
  }
  /// What gdb is told, without tokens.
  Lines told() {
    Lines lines;
    std::string text = std::exchange(out_.to_gdb, {});
    for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1))
      lines.push_back(text.substr(text.find('-'), end - text.find('-')));
    return lines;
  }
  Lines said() {
    Lines lines;
    for (const debug::DebugAnswer& answer : out_.said.take().answers) {
      const wire::ProcessSet which{answer.which};
      const char* kind = answer.kind == Kind::said ? "" : answer.kind == Kind::stopped ? " stopped" : " gone";
      lines.push_back(which.print() + kind + ": " + shown(answer));
    }
    return lines;
  }
  std::uint32_t done() { return std::exchange(out_.done, 0); }
  std::uint32_t number() const { return number_; }
  void end() { driver_.ended("its gdb has ended", out_); }

private:
  static std::vector<GdbDriver::Subject> subjects(std::uint32_t processes) {
    std::vector<GdbDriver::Subject> all;
    for (std::uint32_t i = 0; i < processes; ++i) all.push_back({4 + i, 100 + i});
    return all;
  }
  static std::vector<std::uint32_t> threads_of(std::uint32_t inferior, bool two) {
    return two ? std::vector{2 * inferior - 1, 2 * inferior} : std::vector{inferior};
  }

  GdbDriver driver_;
  GdbDriver::Out out_;
  std::uint32_t number_ = 0;
};

}  // namespace

TEST_CASE("each process is told by itself, and answers when gdb has", "[debug]") {
  Gdb gdb{2};
  gdb.attach(2);
  gdb.order(What::command, "print x");
  CHECK(gdb.told() == Lines{"-interpreter-exec --thread 1 --frame 0 console \"print x\"",
                            "-interpreter-exec --thread 2 --frame 0 console \"print x\""});
  gdb.hear(R"(~"$1 = 5\n")");
  gdb.hear("4^done");
  CHECK(gdb.done() == 0);
  gdb.hear(R"(&"No symbol \"x\" in current context.\n")");
  gdb.hear(R"(5^error,msg="No symbol \"x\" in current context.")");
  CHECK(gdb.done() == gdb.number());
  CHECK(gdb.said() == Lines{"4: = 5", "5: No symbol \"x\" in current context."});
}

TEST_CASE("answers of many processes are put together, unless each is wanted", "[debug]") {
  const bool each = GENERATE(false, true);
  Gdb gdb{6};
  gdb.attach(6);
  gdb.order(What::command, "print x", {0, 99}, each);
  for (std::uint32_t i = 0; i < 6; ++i) {
    gdb.hear(fmt::format("~\"${} = {}\\n\"", i + 1, 7 * i));
    gdb.hear(fmt::format("{}^done", 12 + i));
  }
  CHECK(gdb.done() == gdb.number());
  const Lines said = gdb.said();
  CHECK(said.size() == (each ? 6 : 1));
  CHECK(said.front() == (each ? "4: = 0" : "4-9: = {0..35}"));
}

TEST_CASE("a process that is let run has answered when it stops", "[debug]") {
  Gdb gdb{2};
  gdb.attach(2);
  gdb.order(What::command, "continue");
  CHECK(gdb.told() == Lines{"-exec-continue --thread-group i1", "-exec-continue --thread-group i2"});
  gdb.hear("4^running");
  gdb.hear("5^running");
  gdb.stop(1, "\\nThread 1.1 \\\"app\\\" hit Breakpoint 1.2, f () at a.c:7\\n");
  CHECK((gdb.done() == 0 && gdb.said() == Lines{"4 stopped: Breakpoint 1, f () at a.c:7"}));
  SECTION("or, in the background, at once") {
    gdb.order(What::command, "continue &", {4, 4});
    gdb.hear("6^running");
    CHECK(gdb.done() == gdb.number());
  }
  SECTION("one that runs cannot be asked, but stopped") {
    gdb.order(What::command, "bt", {5, 5});
    CHECK((gdb.done() == gdb.number() && gdb.said() == Lines{"5: runs: Ctrl-C stops it"}));
    gdb.order(What::interrupt);
    CHECK(gdb.told() == Lines{"-exec-interrupt --thread-group i2"});
    gdb.stop(2, "f () at a.c:8\\n", "0");
    CHECK(gdb.said() == Lines{"5 stopped: f () at a.c:8"});
  }
  SECTION("or when it ends") {
    gdb.hear(R"(~"[Inferior 2 (process 101) exited with code 011]\n")");
    gdb.hear(R"(=thread-exited,id="2",group-id="i2")");
    gdb.hear(R"(=thread-group-exited,id="i2",exit-code="011")");
    gdb.hear(R"(*stopped,reason="exited",exit-code="011")");
    CHECK((gdb.done() != 0 && gdb.said() == Lines{"5 gone: has ended with status 9"}));
  }
  SECTION("or when gdb does") {
    gdb.end();
    CHECK((gdb.done() != 0 && gdb.said() == Lines{"4-5 gone: its gdb has ended"}));
  }
}

TEST_CASE("the threads of a process stop together, and run while one of them steps", "[debug]") {
  Gdb gdb{1};
  gdb.attach(1, true);
  gdb.order(What::command, "next");
  CHECK(gdb.told() ==
        Lines{"-exec-continue --thread 2", "-interpreter-exec --thread 1 --frame 0 console \"next\""});
  gdb.hear("2^running");
  gdb.hear("3^running");
  gdb.stop(1, "8\\t x;\\n", "end-stepping-range");
  CHECK(gdb.told() == Lines{"-exec-interrupt --thread-group i1"});
  gdb.stop(2, "\\nThread 1.2 \\\"app\\\" stopped.\\n", "0");
  CHECK((gdb.done() == gdb.number() && gdb.said() == Lines{"4 stopped: 8\t x;"}));
}

TEST_CASE("a breakpoint is set once, for those that it is for", "[debug]") {
  Gdb gdb{3};
  gdb.attach(3);
  gdb.order(What::command, "break f if x > 3");
  CHECK(gdb.told() == Lines{"-interpreter-exec --thread 1 --frame 0 console \"break f if x > 3\""});
  gdb.hear(R"(~"Breakpoint 1 at 0x10: f. (3 locations)\n")");
  gdb.hear("6^done");
  CHECK((gdb.done() == gdb.number() && gdb.said() == Lines{"4-6: Breakpoint 1 at 0x10: f. (3 locations)"}));
  gdb.order(What::command, "break f if x > 3", {5, 5});
  CHECK(gdb.told() ==
        Lines{"-interpreter-exec --thread 2 --frame 0 console \"break f if ($_inferior==2)&&(x > 3)\""});
}

TEST_CASE("frames and threads that are chosen are looked at until the process runs", "[debug]") {
  Gdb gdb{1};
  gdb.attach(1, true);
  gdb.order(What::command, "up");
  gdb.told();
  gdb.hear(R"(~"#1  0x10 in g () at a.c:9\n")");
  gdb.hear("2^done");
  gdb.order(What::command, "print y");
  CHECK(gdb.told() == Lines{"-interpreter-exec --thread 1 --frame 1 console \"print y\""});
  gdb.hear("3^done");
  gdb.order(What::command, "thread 2");
  gdb.told();
  gdb.hear(R"(=thread-selected,id="2",frame={level="0"})");
  gdb.hear("4^done");
  gdb.order(What::command, "print y");
  CHECK(gdb.told() == Lines{"-interpreter-exec --thread 2 --frame 0 console \"print y\""});
}

TEST_CASE("a process that cannot be taken is told of, and the others are held", "[debug]") {
  Gdb gdb{2};
  gdb.order(What::begin);
  gdb.hear(R"(1^error,msg="ptrace: Operation not permitted.")");
  gdb.hear(R"(2^done,inferior="i2")");
  gdb.hear(R"(=thread-created,id="1",group-id="i2")");
  gdb.hear("3^done");
  gdb.stop(1, "main () at a.c:1\\n", "");
  CHECK((gdb.done() == gdb.number() &&
         gdb.said() == Lines{"4 gone: ptrace: Operation not permitted.", "5 stopped: main () at a.c:1"}));
  gdb.order(What::command, "commands 1");
  CHECK(gdb.said().size() == 1);
  CHECK(gdb.done() == gdb.number());
  gdb.order(What::command, "bt", {0, 3});
  CHECK(gdb.done() == gdb.number());
}

}  // namespace charmtree::gdb_driver_test
