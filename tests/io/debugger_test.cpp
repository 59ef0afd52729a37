// SPDX-License-Identifier: Apache-2.0
// A real gdb that holds real processes.
#include "tree/io/host/debugger.hpp"

#include <unistd.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "debug/answer_set.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/process_tree.hpp"
#include "tree/io/spawn.hpp"

namespace charmtree::debugger_test {

using namespace charmtree::io;
using namespace std::chrono_literals;
using What = debug::DebugOrder::What;
using Kind = debug::DebugAnswer::Kind;

namespace {

/// Two sleeping processes, 3 and 8, and what their debugger says.
class Held {
public:
  Held() {
    for (const std::uint32_t process : {3U, 8U}) {
      SpawnRequest request;
      request.program = "/bin/sleep";
      request.arguments = {"sleep", "60"};
      pids_[process] = spawn(request).value();
      watch_.add(pids_[process], [this, process](ChildStatus) { ended_.insert(process); });
    }
    debugger_ = std::make_unique<Debugger>(io_, watch_, [this](const debug::DebugSaid& said) {
      CHECK(said.session == 1);
      all_.add(said.said);
      if (said.done != 0) done_ = said.done;
    });
  }
  ~Held() {
    for (const auto& [process, pid] : pids_) watch_.signal_group(pid, SIGKILL);
    until([&] { return ended_.size() == 2; });
  }
  void order(What what, const std::string& line = {}) {
    debug::DebugOrder order{1, ++number_, what, false, line, {{0, 9}}};
    what == What::begin ? debugger_->begin(order, pids_) : debugger_->order(order);
  }
  template <class Condition>
  bool until(Condition condition) {
    const Instant end = now() + 60s;
    while (!condition() && now() < end) io_.run_one_for(20ms);
    return condition();
  }
  bool is_done() {
    return until([&] { return done_ == number_; });
  }
  /// All that it has said since the last time.
  std::vector<debug::DebugAnswer> said() { return all_.take().answers; }
  void leave() { debugger_.reset(); }
  std::size_t traced() const {
    return static_cast<std::size_t>(std::count_if(
        pids_.begin(), pids_.end(), [](const auto& each) { return tracer_of(each.second) != 0; }));
  }
  /// Beside the processes themselves nothing of ours runs.
  std::size_t gdbs() const { return watch_.pids().size() - pids_.size(); }

private:
  asio::io_context io_;
  ChildWatch watch_{io_};
  std::map<std::uint32_t, pid_t> pids_;
  std::set<std::uint32_t> ended_;
  std::unique_ptr<Debugger> debugger_;
  debug::AnswerSet all_;
  std::uint32_t number_ = 0, done_ = 0;
};

}  // namespace

TEST_CASE("gdb takes hold of processes, answers for each, and lets go", "[debugger]") {
  Held held;
  held.order(What::begin);
  REQUIRE(held.is_done());
  for (const auto& answer : held.said()) CHECK(answer.kind == Kind::stopped);
  CHECK(held.traced() == 2);
  held.order(What::command, "print $_inferior");
  REQUIRE(held.is_done());
  const auto said = held.said();
  REQUIRE(said.size() == 2);
  CHECK((said[0].text == "= 1" && said[0].which.front().first == 3));
  CHECK((said[1].text == "= 2" && said[1].which.front().first == 8));
  SECTION("when it is told to go") {}
  SECTION("and of those that run, too") {
    held.order(What::command, "continue &");
    REQUIRE(held.is_done());
  }
  held.leave();
  CHECK(held.until([&] { return held.traced() == 0 && held.gdbs() == 0; }));
}

TEST_CASE("a gdb that is killed is told of", "[debugger]") {
  Held held;
  held.order(What::begin);
  REQUIRE(held.is_done());
  held.said();
  held.order(What::command, "python import os; os.kill(os.getpid(), 9)");
  REQUIRE(held.is_done());
  std::uint32_t gone = 0;
  for (const auto& answer : held.said()) {
    CHECK((answer.kind == Kind::gone && answer.text == "its gdb has been killed (Killed)"));
    gone += answer.processes;
  }
  CHECK(gone == 2);
  CHECK(held.until([&] { return held.traced() == 0; }));
}

TEST_CASE("where there is no gdb that is said of each process", "[debugger]") {
  const std::string path = std::getenv("PATH");
  Held held;
  ::setenv("PATH", "/nowhere", 1);
  held.order(What::begin);
  ::setenv("PATH", path.c_str(), 1);
  REQUIRE(held.is_done());
  const auto said = held.said();
  REQUIRE(said.size() == 1);
  CHECK((said[0].kind == Kind::gone && said[0].processes == 2));
  CHECK(said[0].text.starts_with("there is no gdb on this host"));
}

}  // namespace charmtree::debugger_test
