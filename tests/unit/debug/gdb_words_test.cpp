// SPDX-License-Identifier: Apache-2.0
#include "debug/gdb_words.hpp"

#include <catch2/catch.hpp>

#include "debug/mi_record.hpp"

namespace charmtree::gdb_words_test {

using namespace charmtree::debug;

TEST_CASE("a command is known by its beginning, as gdb does", "[debug]") {
  const auto all_are = [](GdbManner manner, std::initializer_list<const char*> lines) {
    for (const char* line : lines) {
      INFO(line);
      CHECK(manner_of(line) == manner);
    }
  };
  all_are(GdbManner::once, {"b main", "br f", "break a.c:3 if x", "tbreak f", "delete", "d 1", "disable 2",
                            "info b", "info breakpoints", "i b", "set print pretty on",
                            "handle SIGUSR1 nostop", "display x", "condition 1 x>2"});
  all_are(GdbManner::resumes, {"c", "cont", "continue", " continue & "});
  all_are(GdbManner::steps,
          {"n", "next 3", "step", "s", "si", "finish", "fin", "until 12", "c 5", "u", "signal 0"});
  all_are(GdbManner::takes_more, {"commands 1", "run", "r", "python", "attach 5", "detach", "inferior 2",
                                  "define x", "set non-stop off", "shell", "quit", "target remote x"});
  all_are(GdbManner::of_each, {"print x", "p x=3", "bt", "x/4x p", "up", "frame 2", "info locals",
                               "info threads", "set var x = 3", "set x=3", "python print(1)", "watch x",
                               "thread 2", "list", "call f(1)", "i lo", "nonsense"});
}

TEST_CASE("what is special about some commands", "[debug]") {
  CHECK((is_in_background("continue &") && !is_in_background("print &x")));
  CHECK((moves_frame("up") && moves_frame("f 3") && moves_frame("down 2") && !moves_frame("finish")));
  CHECK((is_breakpoint("tbreak f") && !is_breakpoint("bt")));
  CHECK(quoted_for_gdb("p \"a\\n\"\n") == R"("p \"a\\n\"")");
}

TEST_CASE("texts lose what only tells how gdb counts", "[debug]") {
  CHECK(tidy_answer("$12 = {a = 5}\n") == "= {a = 5}");
  CHECK(tidy_answer("x is $1 = 5\n$a\n") == "x is $1 = 5\n$a");
  CHECK(tidy_stop("\nThread 2.1 \"a p\" hit Breakpoint 3.17, f (n=1) at a.c:7\n7\t  x;\n") ==
        "Breakpoint 3, f (n=1) at a.c:7\n7\t  x;");
  CHECK(tidy_stop("Run till\nValue returned is $3 = 7\n") == "Run till\nValue returned is = 7");
  CHECK(tidy_stop("Reading symbols from x...\n[Thread debugging using y]\nmain () at a.c:1\n") ==
        "main () at a.c:1");
  CHECK(tidy_answer("a\x1b[2Jb") == "a\\x1b[2Jb");
}

TEST_CASE("records of the machine interface are read", "[debug]") {
  const MiRecord stop = read_mi(
      R"(*stopped,reason="breakpoint-hit",frame={func="f",args=[{name="n",value="\"}"}]},thread-id="7",core="1")");
  CHECK((stop.kind == MiRecord::Kind::exec && stop.name == "stopped" && stop.token == 0));
  CHECK(stop.field("thread-id") == "7");
  CHECK(stop.field("reason") == "breakpoint-hit");
  CHECK(stop.field("func").empty());
  CHECK(stop.field("frame").empty());
  const MiRecord error = read_mi(R"(12^error,msg="No symbol \"x\" in\tcontext.\n\303\244\\")");
  CHECK((error.kind == MiRecord::Kind::result && error.token == 12 && error.name == "error"));
  CHECK(error.field("msg") == "No symbol \"x\" in\tcontext.\n\xc3\xa4\\");
  CHECK(read_mi(R"(~"a\nb")").text == "a\nb");
  CHECK(read_mi("(gdb) ").kind == MiRecord::Kind::other);
  for (const char* broken :
       {"", "7", "^", "*stopped,", "=x,a", "=x,a=", "~", "~\"", "*stopped,a={\"", "=x,}},b=\"c\""})
    CHECK(read_mi(broken).field("b").size() <= 1);
}

}  // namespace charmtree::gdb_words_test
