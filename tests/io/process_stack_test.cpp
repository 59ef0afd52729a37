// SPDX-License-Identifier: Apache-2.0
#include "tree/io/stacks/process_stack.hpp"

#include <catch2/catch.hpp>

#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>

#include "tree/io/process_tree.hpp"

namespace charmtree::process_stack_test {

using namespace charmtree::io;

namespace {

/// A process that waits; gone with the object.
class Waiting {
public:
  Waiting() : pid_(::fork()) {
    if (pid_ == 0) wait();
    const std::string waits = std::to_string(SYS_pause) + " ";
    while (!proc_file(pid_, "syscall").starts_with(waits)) ::sched_yield();
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() { end(); }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  pid_t pid() const { return pid_; }
  /// What it comes to: one that is let go runs for a moment, even to stop again.
  char state() const {
    while (stat_of(pid_).state == 'R') ::sched_yield();
    return stat_of(pid_).state;
  }

private:
  [[noreturn]] static void wait() {
    for (;;) ::pause();
  }

  pid_t pid_;
};

bool has(const stacks::Frames& frames, std::string_view part) {
  return std::any_of(frames.begin(), frames.end(),
                     [&](const std::string& frame) { return frame.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("the stack of a process begins outside of main and ends where it waits", "[stacks]") {
  const Waiting child;
  ProcessStack stack{child.pid()};
  for (int look = 0; look < 3; ++look) {
    const auto read = stack.read();
    REQUIRE(read);
    CHECK((has(read->native, "main") && has(read->native, "pause") && read->python.empty()));
    CHECK(child.state() != 't');
  }
}

TEST_CASE("a process that is stopped stays so", "[stacks]") {
  const Waiting child;
  ::kill(child.pid(), SIGSTOP);
  ::waitpid(child.pid(), nullptr, WUNTRACED);
  ProcessStack stack{child.pid()};
  const auto read = stack.read();
  REQUIRE(read);
  CHECK(has(read->native, "pause"));
  CHECK(child.state() == 'T');
}

TEST_CASE("one that has ended, or may not be looked into, says why", "[stacks]") {
  Waiting child;
  const pid_t gone = child.pid();
  child.end();
  ProcessStack stack{gone};
  CHECK_FALSE(stack.read());
  ProcessStack kernel{2};  // kthreadd, or nobody
  CHECK_FALSE(kernel.read());
}

TEST_CASE("functions are named as people write them, without parameters", "[stacks]") {
  CHECK(function_name("main") == "main");
  CHECK(function_name("__libc_start_main@@GLIBC_2.34") == "__libc_start_main");
  CHECK(function_name("_Z22CommunicationServerNetii") == "CommunicationServerNet");
  CHECK(function_name("_ZN4Main4stepEPFvvE") == "Main::step");
  CHECK(function_name("_ZNK3FooclEi") == "Foo::operator()");
  CHECK(function_name("_Z") == "_Z");
}

TEST_CASE("a symbol that stands for more than a name is shown as it is", "[stack]") {
  // Each part names the one before it twice: 600 bytes of symbol would stand for 2^50.
  const auto substitution = [](int number) {
    std::string digits;
    for (int rest = number - 1; number > 0 && (rest > 0 || digits.empty()); rest /= 36)
      digits.insert(digits.begin(), "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[rest % 36]);
    return "S" + digits + "_";
  };
  std::string symbol = "_Z1fSt4pairIiiE";
  for (int i = 1; i <= 6; ++i) symbol += "S_I" + substitution(i) + substitution(i) + "E";
  CHECK(function_name(symbol) == "f");
  for (int i = 7; i <= 50; ++i) symbol += "S_I" + substitution(i) + substitution(i) + "E";
  CHECK(function_name(symbol) == symbol);
  CHECK(function_name(symbol) == symbol);
  CHECK(function_name("_Z1f" + std::string(5000, 'i')).size() == 1024);
  // Names as programs have them are read.
  const std::string usual =
      "_ZNSt6vectorISt4pairIiNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEESaIS7_EE12emplace_"
      "backIJRiRS6_EEERS7_DpOT_";
  CHECK(function_name(usual).find(">::emplace_back<int&") != std::string::npos);
}

TEST_CASE("the worker of a process that just waits for one other is that one", "[stacks]") {
  const Waiting child;
  CHECK(worker_of(child.pid()) == child.pid());
  CHECK(worker_of(1'000'000'000) == 1'000'000'000);
}

}  // namespace charmtree::process_stack_test
