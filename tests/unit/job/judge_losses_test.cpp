// SPDX-License-Identifier: Apache-2.0
// The judge of a job that goes on when processes are lost.
#include <catch2/catch.hpp>

#include "tests/unit/four_hosts.hpp"
#include "tree/job/judge.hpp"

namespace charmtree::judge_losses_test {

using namespace charmtree::proto;

namespace {

constexpr Instant kNow{100s};
const Error kClosed{Errc::link_lost, Phase::run, "connection reset"};

wire::JobSpec job_that_goes_on() {
  wire::JobSpec job;
  job.loss.recovery = wire::Recovery::go_on;
  job.processes = 8;
  job.hosts = 4;
  return job;
}

/// Two processes on each of four hosts n1 ... n4, all up.
class Court {
public:
  Court() : judge(job, hosts) {
    judge.begin(kNow);
    wire::Facts facts;
    facts.hosts_up = {0, 1, 2, 3};
    judge.on(facts, kNow);
  }
  void all_register() {
    wire::Facts facts;
    facts.registered = 8;
    for (std::uint32_t i = 0; i < 4; ++i) facts.blocks.push_back({i, 2 * i, 1, {{1, {}}, {2, {}}}});
    judge.on(facts, kNow);
  }
  void all_run() {
    all_register();
    REQUIRE(judge.take_blocks());
  }
  void exits(const wire::ProcessExit& exit) {
    wire::Facts facts;
    facts.exits = {exit};
    judge.on(facts, kNow);
  }
  void ends_well(std::uint32_t first, std::uint32_t last) {
    wire::Facts facts;
    facts.exited_ok = last - first + 1;
    facts.who_ended = {{first, last}};
    judge.on(facts, kNow);
  }
  void loses_link(std::uint32_t host, std::uint32_t first, std::uint32_t last) {
    judge.on(wire::LinkLost{host, kClosed, {{first, last}}});
  }
  void enter(std::uint32_t count, std::uint32_t epoch = 0) {
    wire::Facts facts;
    facts.epoch = epoch;
    facts.barrier[0] = count;
    judge.on(facts, kNow);
  }
  std::vector<std::string> lines() {
    std::vector<std::string> all;
    for (const Loss& loss : judge.take_losses()) all.push_back(loss.line);
    return all;
  }

  wire::JobSpec job = job_that_goes_on();
  std::vector<Host> hosts = test::four_hosts();
  Judge judge;
};

wire::ProcessExit killed(std::uint32_t process, bool registered) {
  wire::ProcessExit exit{process, 0, 9};
  exit.registered = registered;
  return exit;
}

}  // namespace

TEST_CASE("a process that dies is told, and the job ends well with the others", "[judge][losses]") {
  Court court;
  court.exits(killed(3, false));
  court.exits({4, 7});
  CHECK(court.lines() == std::vector<std::string>{
                             "n2: run: process 3: killed by signal 9 (SIGKILL: Killed); was it killed for "
                             "want of memory? see dmesg there; going on without it",
                             "n3: run: process 4: exited with status 7; going on without it"});
  CHECK_FALSE(court.judge.verdict());
  CHECK(court.judge.status().lost == 2);
  court.ends_well(0, 2);
  CHECK_FALSE(court.judge.verdict());
  court.ends_well(5, 7);
  REQUIRE(court.judge.verdict());
  CHECK(court.judge.verdict()->status == 0);
  CHECK(court.judge.verdict()->lines ==
        std::vector<std::string>{"2 of 8 processes were lost (3-4); the job went on without them"});
  CHECK(court.judge.verdict()->why.lost.print() == "3-4");
}

TEST_CASE("registered processes that go without the end of their protocol are lost", "[judge][losses]") {
  Court court;
  court.all_run();
  wire::ProcessExit left{1, 0};
  left.registered = true;
  court.exits(left);
  wire::ProcessExit cut{2};
  cut.registered = cut.lost_connection = true;
  cut.text = "closed its connection without ct_finalize";
  court.exits(cut);
  const std::vector<std::string> lines = court.lines();
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] ==
        "n1: run: process 1: exited with status 0 without the end of its protocol; did it call exit itself? "
        "see its output; going on without it");
  CHECK(lines[1] == "n2: run: process 2: closed its connection without ct_finalize; going on without it");
  CHECK_FALSE(court.judge.verdict());
}

TEST_CASE("a host is lost with what was below it; whose end was told before is not", "[judge][losses]") {
  Court court;
  court.all_run();
  court.ends_well(5, 5);
  court.exits(killed(2, true));
  court.loses_link(1, 2, 5);
  CHECK(court.lines()[1] ==
        "n2: run: connection reset; going on without processes 3-4, also those of n3, which it had started");
  court.exits(killed(3, true));  // told late
  CHECK(court.lines().empty());
  court.ends_well(0, 1);
  CHECK_FALSE(court.judge.verdict());
  court.ends_well(6, 7);
  REQUIRE(court.judge.verdict());
  CHECK(court.judge.verdict()->status == 0);
  CHECK(court.judge.verdict()->lines[0] == "3 of 8 processes were lost (2-4); the job went on without them");
}

TEST_CASE("of hosts whose processes had ended nothing is lost", "[judge][losses]") {
  Court court;
  court.ends_well(2, 3);
  court.loses_link(1, 2, 3);
  CHECK(court.lines()[0] == "n2: run: connection reset; its processes had ended");
  court.ends_well(0, 1);
  court.ends_well(4, 7);
  CHECK(court.judge.verdict()->status == 0);
  CHECK(court.judge.verdict()->lines.empty());
}

TEST_CASE("if all are lost, the first loss says how the job ends", "[judge][losses]") {
  Court court;
  SECTION("a process") {
    court.exits(killed(3, false));
    court.loses_link(0, 0, 7);
    CHECK(court.judge.verdict()->status == 137);
    CHECK(court.judge.verdict()->lines[0].starts_with("n2: run: process 3: killed by signal 9"));
    CHECK(court.judge.verdict()->why.process == 3U);
  }
  SECTION("a host") {
    court.loses_link(1, 2, 3);
    for (const std::uint32_t process : {0, 1, 4, 5, 6, 7}) court.exits({process, 3});
    CHECK(court.judge.verdict()->status == 125);
    CHECK(court.judge.verdict()->lines[0] == "n2: run: connection reset");
  }
  CHECK(court.judge.verdict()->lines.back() == "all 8 processes were lost");
}

TEST_CASE("a barrier opens when all that live have entered, told anew", "[judge][losses]") {
  Court court;
  court.all_run();
  court.enter(7);  // all but 3; 2 and 5 among them
  court.exits(killed(3, true));
  CHECK_FALSE(court.judge.take_release(BarrierKind::all));  // nobody knows whose entries these are
  const auto lost = court.judge.tell_losses(kNow);
  REQUIRE(lost);
  court.loses_link(2, 4, 5);
  court.enter(1);  // of the epoch before
  court.enter(7, lost->epoch);
  CHECK(court.judge.take_release(BarrierKind::all));  // 4 and 5 were among them
  court.enter(5, lost->epoch);
  const auto more = court.judge.tell_losses(kNow + Losses::kPause);
  REQUIRE(more);
  CHECK(more->epoch == lost->epoch + 1);
  court.enter(4, more->epoch);
  CHECK_FALSE(court.judge.take_release(BarrierKind::all));
  court.enter(1, more->epoch);
  CHECK(court.judge.take_release(BarrierKind::all));
  CHECK_FALSE(court.judge.take_release(BarrierKind::all));
}

TEST_CASE("until all have their table, losses of those who wait for it end the job", "[judge][losses]") {
  Court court;
  wire::Facts facts;
  facts.registered = 3;
  SECTION("a host") {
    court.judge.on(facts, kNow);
    court.loses_link(1, 2, 3);
    CHECK(court.judge.verdict()->status == 125);
  }
  SECTION("a process that has not registered") {
    court.judge.on(facts, kNow);
    court.exits({3, 7});
    CHECK(court.judge.verdict()->status == 7);
    CHECK(court.lines().empty());
  }
  SECTION("a host, before anybody had registered") {
    court.loses_link(1, 2, 3);
    CHECK_FALSE(court.judge.verdict());
    court.judge.on(facts, kNow);
    CHECK(court.judge.verdict()->status == 125);
  }
  SECTION("a process, before anybody had registered") {
    court.exits(killed(3, false));
    CHECK_FALSE(court.judge.verdict());
    court.judge.on(facts, kNow);
    CHECK(court.judge.verdict()->status == 137);
  }
}

TEST_CASE("one that registered and is lost before the table is in it, and told behind it",
          "[judge][losses]") {
  Court court;
  court.all_register();
  court.exits(killed(3, true));
  CHECK_FALSE(court.judge.verdict());
  CHECK_FALSE(court.judge.tell_losses(kNow));
  CHECK(court.judge.next_deadline() == kNow + court.job.timeout);
  REQUIRE(court.judge.take_blocks());
  CHECK(court.judge.tell_losses(kNow));
}

TEST_CASE("what nobody goes on after", "[judge][losses]") {
  Court court;
  SECTION("an abort") {
    court.judge.on(wire::AbortUp{1, 9, "give up"});
    CHECK(court.judge.verdict()->status == 9);
  }
  SECTION("a signal of the user's") {
    court.judge.decision().interrupted(2);
    CHECK(court.judge.verdict()->status == 130);
  }
  SECTION("a launcher that cannot say what it must") {
    court.judge.on(wire::LinkLost{1, kClosed, {}, true});
    CHECK(court.judge.verdict()->status == 125);
  }
  SECTION("a program that cannot") {
    wire::ProcessExit refused{1};
    refused.refused = true;
    refused.text = "why";
    court.exits(refused);
    CHECK(court.judge.verdict()->status == 125);
  }
  CHECK(court.lines().empty());
}

namespace {

/// Of a root that takes over from another, which had told everybody this.
class NextRoot {
public:
  explicit NextRoot(InheritedState inherited, wire::Recovery recovery = wire::Recovery::go_on)
      : job(kept_alive(recovery)), judge(job, hosts) {
    judge.take_over();
    judge.begin(kNow);
    CHECK(judge.launch().all_up());
    CHECK(judge.next_deadline() == kNever);
    inherited_ = std::move(inherited);
  }
  static wire::JobSpec kept_alive(wire::Recovery recovery) {
    wire::JobSpec job = job_that_goes_on();
    job.loss.recovery = recovery;
    job.loss.keep_alive = 60s;
    return job;
  }
  void resume() { judge.resume(inherited_); }
  void tell(std::uint32_t ended_first, std::uint32_t ended_last) {
    wire::Facts facts;
    facts.who_ended = {{ended_first, ended_last}};
    judge.on(facts, kNow);
  }
  void enter(std::uint32_t count, std::uint32_t epoch) {
    wire::Facts facts;
    facts.epoch = epoch;
    facts.barrier[0] = count;
    judge.on(facts, kNow);
  }

  wire::JobSpec job;
  std::vector<Host> hosts = test::four_hosts();
  Judge judge;

private:
  InheritedState inherited_;
};

InheritedState inherited(bool has_table, std::uint32_t epoch = 0,
                         std::vector<wire::ProcessSet::Range> lost = {}) {
  InheritedState inherited;
  inherited.epoch = epoch;
  inherited.has_table = has_table;
  inherited.releases = {3, 0, 0};
  inherited.lost.add_all(lost);
  return inherited;
}

}  // namespace

TEST_CASE("a root that takes over waits for those that live, in an epoch of its own", "[judge][takeover]") {
  NextRoot next{inherited(true, 5, {{2, 3}})};
  next.resume();
  CHECK(next.judge.barriers().opened(BarrierKind::all) == 3);
  CHECK(next.judge.status().stage == Stage::run);
  CHECK_FALSE(next.judge.take_blocks());
  next.enter(8, 5);  // nobody knows whose these are
  const auto lost = next.judge.tell_losses(kNow);
  REQUIRE(lost);
  CHECK(lost->epoch == 6);
  CHECK(lost->processes.empty());
  next.enter(5, 6);
  CHECK_FALSE(next.judge.take_release(BarrierKind::all));
  next.enter(1, 6);
  CHECK(next.judge.take_release(BarrierKind::all));
  CHECK(next.judge.barriers().opened(BarrierKind::all) == 4);
  next.tell(0, 1);
  next.tell(4, 6);
  CHECK_FALSE(next.judge.verdict());
  next.tell(7, 7);
  REQUIRE(next.judge.verdict());
  CHECK(next.judge.verdict()->status == 0);
  CHECK(next.judge.verdict()->lines ==
        std::vector<std::string>{"2 of 8 processes were lost (2-3); the job went on without them"});
}

TEST_CASE("a job may have nobody left when another root takes over", "[judge][takeover]") {
  SECTION("all others had ended") {
    NextRoot next{inherited(false, 1, {{2, 3}})};
    next.tell(0, 1);
    next.tell(4, 7);  // told before it is known who was lost
    next.resume();
    REQUIRE(next.judge.verdict());
    CHECK(next.judge.verdict()->status == 0);
  }
  SECTION("all were lost") {
    NextRoot next{inherited(false, 1, {{0, 7}})};
    next.resume();
    REQUIRE(next.judge.verdict());
    CHECK(next.judge.verdict()->status == 125);
  }
}

TEST_CASE("whoever is lost while a root takes over an abort job ends it", "[judge][takeover]") {
  const bool has_table = GENERATE(false, true);
  NextRoot next{inherited(has_table), wire::Recovery::none};
  next.resume();
  CHECK_FALSE(next.judge.verdict());
  next.judge.on(wire::LinkLost{2, kClosed, {{4, 5}}});
  REQUIRE(next.judge.verdict());
  CHECK(next.judge.verdict()->status == 125);
  CHECK(next.judge.verdict()->lines == std::vector<std::string>{"n3: run: connection reset"});
}

TEST_CASE("processes may register after another root has taken over", "[judge][takeover]") {
  NextRoot next{inherited(false), wire::Recovery::none};
  next.resume();
  wire::Facts facts;
  facts.registered = 8;
  for (std::uint32_t i = 0; i < 4; ++i) facts.blocks.push_back({i, 2 * i, 1, {{1, {}}, {2, {}}}});
  next.judge.on(facts, kNow);
  CHECK(next.judge.take_blocks());
}

}  // namespace charmtree::judge_losses_test
