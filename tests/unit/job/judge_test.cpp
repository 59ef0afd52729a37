// SPDX-License-Identifier: Apache-2.0
// The table of endings, row by row.
#include "tree/job/judge.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/four_hosts.hpp"
#include "tree/base/signals.hpp"

namespace charmtree::judge_test {

using namespace charmtree::proto;

namespace {

constexpr Instant kNow{100s};

/// Two processes on each of four hosts n1 ... n4.
class Court {
public:
  explicit Court(BadExit bad_exit = BadExit::waits) : judge(job, hosts, bad_exit) {
    job.processes = 8;
    job.hosts = 4;
    job.timeout = 60s;
    judge.begin(kNow);
  }

  void all_up() {
    wire::Facts facts;
    facts.hosts_up = {0, 1, 2, 3};
    judge.on(facts, kNow);
  }
  /// Every process has registered and has its table.
  void all_run() {
    all_up();
    wire::Facts facts;
    facts.registered = 8;
    for (std::uint32_t i = 0; i < 4; ++i) facts.blocks.push_back({3 - i, 2 * (3 - i), 1, {{1, {}}, {2, {}}}});
    judge.on(facts, kNow);
    const auto blocks = judge.take_blocks();
    REQUIRE(blocks);
    CHECK(wire::is_complete(*blocks, 8));
    CHECK_FALSE(judge.take_blocks());
  }
  void exits(std::vector<wire::ProcessExit> exits, std::uint32_t ok = 0) {
    wire::Facts facts;
    facts.exits = std::move(exits);
    facts.exited_ok = ok;
    judge.on(facts, kNow);
  }
  void ended(std::uint32_t count, std::optional<wire::Code> code = {}) {
    wire::Facts facts;
    facts.ended = count;
    facts.code = code;
    judge.on(facts, kNow);
  }
  void fails(std::uint32_t host, Error error) {
    wire::Facts facts;
    facts.hosts_failed = {{host, std::move(error)}};
    judge.on(facts, kNow);
  }
  int status() const { return judge.verdict() ? judge.verdict()->status : -1; }
  std::string line(std::size_t i = 0) const { return judge.verdict() ? judge.verdict()->lines.at(i) : ""; }
  const Ending& why() const { return judge.verdict().value().why; }
  wire::EndMode mode() const { return judge.verdict().value().end.mode; }

  wire::JobSpec job;
  std::vector<Host> hosts = test::four_hosts();
  Judge judge;
};

wire::ProcessExit plain(std::uint32_t process, std::uint8_t code, std::uint8_t signal = 0) {
  return {process, code, signal};
}
wire::ProcessExit registered(std::uint32_t process, std::uint8_t code, std::uint8_t signal = 0) {
  return {process, code, signal, false, true};
}

}  // namespace

TEST_CASE("all endings: a normal end without a report, the first code that is not 0", "[judge]") {
  Court court;
  court.all_run();
  court.ended(5);
  CHECK(court.status() == -1);
  SECTION("0") {
    court.ended(3);
    CHECK(court.status() == 0);
    CHECK(court.judge.verdict()->lines.empty());
    CHECK(court.mode() == wire::EndMode::finish);
  }
  SECTION("a code, and one that came later") {
    court.ended(1, wire::Code{3, 7});
    court.ended(2, wire::Code{0, 9});
    CHECK(court.status() == 7);
  }
  SECTION("a negative code is its low byte") {
    court.ended(3, wire::Code{3, -1});
    CHECK(court.status() == 255);
  }
  SECTION("a code without low byte is 1") {
    court.ended(3, wire::Code{3, 512});
    CHECK(court.status() == 1);
  }
  CHECK(court.judge.next_deadline() == kNever);
}

TEST_CASE("an abort is at once, with the low byte of its code", "[judge]") {
  Court court;
  court.all_run();
  court.judge.on(wire::AbortUp{5, 1, "assertion failed"});
  CHECK(court.status() == 1);
  CHECK(court.line() == "n3: run: process 5: aborted: assertion failed (status 1)");
  CHECK(court.mode() == wire::EndMode::stop);
  CHECK(describe(wire::AbortUp{5, 1, "cannot go on\r\n"}) == "aborted: cannot go on");
  court.ended(8);
  CHECK(court.status() == 1);  // a verdict does not change
}

TEST_CASE("an abort whose code cannot be a status names both", "[judge]") {
  const auto [code, status, words] = GENERATE(table<int, int, std::string>(
      {{0, 1, "code 0, status 1"}, {256, 1, "code 256, status 1"}, {300, 44, "code 300, status 44"}}));
  Court court;
  court.all_run();
  court.judge.on(wire::AbortUp{5, code, "MPI_Abort"});
  CHECK(court.status() == status);
  CHECK(court.line() == "n3: run: process 5: aborted: MPI_Abort (" + words + ")");
}

TEST_CASE("a registered process that is gone without ending is at once: 128+n, its code, or 1", "[judge]") {
  const std::string left = " without the end of its protocol",
                    ask = "; did it call exit itself? see its output";
  const auto [exit, status, words] = GENERATE_COPY(table<wire::ProcessExit, int, std::string>({
      {registered(2, 0, 9), 137,
       "killed by signal 9 (SIGKILL: Killed) (status 137); was it killed for want of memory? see dmesg "
       "there"},
      {registered(2, 0, 11), 139, "killed by signal 11 (SIGSEGV: Segmentation fault) (status 139)"},
      {wire::ProcessExit{2, 0, 6, true, true}, 134,
       "killed by signal 6 (SIGABRT: Aborted), core dumped (status 134); see its core file there"},
      {registered(2, 0, 4), 132,
       "killed by signal 4 (SIGILL: Illegal instruction) (status 132); is it built for the processor there?"},
      {registered(2, 42), 42, "exited with status 42" + left + ask},
      {registered(2, 0), 1, "exited with status 0" + left + " (status 1)" + ask},
  }));
  Court court;
  court.all_run();
  court.exits({exit});
  CHECK(court.status() == status);
  CHECK(court.line() == "n2: run: process 2: " + words);
}

TEST_CASE("a lost connection says why", "[judge]") {
  Court court;
  court.all_run();
  wire::ProcessExit exit = registered(7, 0);
  exit.lost_connection = true;
  exit.text = "its message was malformed";
  court.exits({exit});
  CHECK(court.status() == 1);
  CHECK(court.line() == "n4: run: process 7: its message was malformed (status 1)");
}

TEST_CASE("plain processes: an exit waits for the others, a signal does not", "[judge]") {
  Court court;
  court.all_up();
  SECTION("the first that failed decides, when all are gone") {
    court.exits({plain(4, 5)});
    court.exits({plain(1, 3)}, 5);
    CHECK(court.status() == -1);
    court.exits({}, 1);
    CHECK(court.status() == 5);
    CHECK(court.line() == "n3: run: process 4: exited with status 5 (the first of 2 that failed)");
    CHECK(court.mode() == wire::EndMode::finish);
  }
  SECTION("in one batch the lowest number is the first") {
    court.exits({plain(4, 5), plain(1, 3)}, 6);
    CHECK(court.status() == 3);
  }
  SECTION("128+n") {
    court.exits({plain(0, 0, 11)});
    CHECK(court.status() == 139);
    CHECK(court.mode() == wire::EndMode::stop);
  }
  SECTION("all well") {
    court.exits({}, 8);
    CHECK(court.status() == 0);
  }
  SECTION("a missing library is named") {
    wire::ProcessExit exit = plain(6, 127);
    exit.text = "libfoo.so.1: cannot open shared object file";
    court.exits({exit}, 7);
    CHECK(court.status() == 127);
    CHECK(
        court.line() ==
        "n4: start: process 6: exited with status 127: libfoo.so.1: cannot open shared object file; see ldd "
        "and LD_LIBRARY_PATH there");
  }
}

TEST_CASE("of plain processes that fail in different ways the first gives the status", "[judge]") {
  Court court;
  court.all_up();
  SECTION("an exit, then a signal, which ends the job: both are told") {
    court.exits({plain(4, 3)});
    court.exits({plain(1, 0, 11)});
    CHECK(court.status() == 3);
    CHECK(court.mode() == wire::EndMode::stop);
    CHECK(court.line(0) == "n3: run: process 4: exited with status 3 (the first of 2 that failed)");
    CHECK(court.line(1) ==
          "n1: run: process 1: killed by signal 11 (SIGSEGV: Segmentation fault) (status 139)");
    CHECK(court.why().process == 4U);
    CHECK(court.why().cause == Cause::exit);
  }
  SECTION("a signal ends the job; what comes after it does not count") {
    court.exits({plain(1, 0, 11)});
    std::vector<wire::ProcessExit> asked = {plain(0, 0, 15), plain(2, 7), plain(3, 143), plain(4, 0, 9),
                                            plain(5, 0, 9)};
    for (wire::ProcessExit& exit : asked) exit.asked = true;
    court.exits(asked, 2);
    CHECK(court.status() == 139);
    CHECK(court.judge.verdict()->lines.size() == 1);
    CHECK(court.judge.decision().aftermath() ==
          "the other 7 processes were ended because of that; process 2 exited with status 7, processes 4-5 "
          "had to "
          "be killed");
  }
}

TEST_CASE("++kill-on-exit: the first plain process that fails ends the job at once", "[judge]") {
  Court court{BadExit::ends};
  court.all_up();
  court.exits({}, 2);
  CHECK(court.status() == -1);
  court.exits({plain(4, 5), plain(3, 6)});
  CHECK(court.status() == 6);
  CHECK(court.line() == "n2: run: process 3: exited with status 6");
  CHECK(court.mode() == wire::EndMode::stop);
  CHECK(court.judge.failures() == "2 processes failed: 4 (exit status 5); 3 (exit status 6)");
  CHECK(court.judge.decision().aftermath() == "the other 4 processes were ended because of that");
}

TEST_CASE("a verdict says why: what, which process, where, and its last words", "[judge]") {
  Court court;
  court.all_run();
  SECTION("normal") {
    court.ended(8);
    CHECK(court.why().cause == Cause::finished);
    CHECK_FALSE(court.why().process);
    CHECK(court.judge.decision().aftermath().empty());
  }
  SECTION("killed") {
    wire::ProcessExit exit = registered(5, 0, 9);
    exit.text = "out of memory: the kernel chose it";
    exit.last_words = "first\n\nlast\x1b[31m\n\n";
    court.exits({exit});
    CHECK(court.why().cause == Cause::killed);
    CHECK(court.why().process == 5U);
    CHECK(court.why().host == 2U);
    CHECK(court.why().how == "killed by signal 9 (SIGKILL: Killed), out of memory: the kernel chose it");
    CHECK(court.why().last_words == std::vector<std::string>{"first", "", "last[31m"});
    CHECK(court.judge.decision().aftermath() == "the other 7 processes were ended because of that");
  }
  SECTION("aborted") {
    court.judge.on(wire::AbortUp{0, 1, "no more", "trace\n"});
    CHECK(court.why().cause == Cause::abort);
    CHECK(court.why().how == "aborted: no more");
    CHECK(court.why().last_words == std::vector<std::string>{"trace"});
    court.exits({registered(1, 0, 6)});
    CHECK(court.judge.failures() == "2 processes failed: 1 (signal 6, SIGABRT); 0 (aborted with status 1)");
    CHECK(court.judge.decision().aftermath() == "the other 6 processes were ended because of that");
  }
  SECTION("a lost host") {
    court.judge.on(wire::LinkLost{2, {Errc::link_lost, Phase::run, "connection reset"}});
    CHECK(court.why().cause == Cause::launcher);
    CHECK(court.why().host == 2U);
    CHECK(court.judge.decision().aftermath().empty());
  }
  SECTION("time limit") {
    court.judge.decision().time_limit_reached();
    CHECK(court.why().cause == Cause::time_limit);
    CHECK(court.judge.decision().aftermath().empty());
  }
  SECTION("the user") {
    court.judge.decision().interrupted(2);
    CHECK(court.why().cause == Cause::user_signal);
    CHECK(court.judge.decision().aftermath().empty());
  }
}

TEST_CASE("who leaves before registering ends the job only if others wait for it", "[judge]") {
  Court court;
  court.all_up();
  wire::Facts some;
  some.registered = 3;
  SECTION("they register first") {
    court.judge.on(some, kNow);
    court.exits({plain(5, 1)});
  }
  SECTION("it leaves first") {
    court.exits({plain(5, 1)});
    CHECK(court.status() == -1);
    court.judge.on(some, kNow);
  }
  CHECK(court.status() == 1);
  CHECK(
      court.line() ==
      "n3: start: process 5: exited with status 1 before registering, while 3 others wait for it in the node "
      "table; see its output");
}

TEST_CASE("who leaves with status 0 before registering is named, not those that are only late", "[judge]") {
  Court court;
  court.all_up();
  wire::Facts left, registered;
  left.exited_ok = 2;
  left.first_ok = 5;
  court.judge.on(left, kNow);
  CHECK(court.status() == -1);
  left.first_ok = 2;  // told later: not the first
  court.judge.on(left, kNow);
  registered.registered = 1;
  court.judge.on(registered, kNow);
  CHECK(court.status() == 125);
  CHECK(
      court.line() ==
      "n3: start: process 5: exited with status 0 before registering, while 1 other waits for it in the node "
      "table; do all processes run the same program?");
}

TEST_CASE("who leaves before MPI_Init ends the job if others wait for it there", "[judge]") {
  Court court;
  court.all_up();
  wire::Facts joined, left;
  joined.joined = 2;
  left.exited_ok = 1;
  SECTION("they come first, or it does") {
    left.first_ok = 5;
    const bool comes_first = GENERATE(true, false);
    court.judge.on(comes_first ? joined : left, kNow);
    CHECK(court.status() == -1);
    court.judge.on(comes_first ? left : joined, kNow);
    CHECK(court.status() == 125);
    CHECK(
        court.line().starts_with("n3: run: process 5: exited with status 0 before MPI_Init, while 2 others"));
  }
  SECTION("but not behind MPI_Finalize") {
    court.judge.on(joined, kNow);
    court.judge.on(left, kNow);
    wire::ProcessExit finalised = plain(5, 4);
    finalised.ended = true;
    court.exits({finalised});
    CHECK(court.status() == -1);
  }
}

TEST_CASE("a process that ends while others register was still starting", "[judge]") {
  Court court;
  court.all_up();
  wire::Facts some;
  some.registered = 3;
  court.judge.on(some, kNow);
  SECTION("killed") {
    court.exits({plain(5, 0, 15)});
    CHECK(court.line() == "n3: start: process 5: killed by signal 15 (SIGTERM: Terminated) (status 143)");
  }
  SECTION("aborted") {
    court.judge.on(wire::AbortUp{5, 1, "no more"});
    CHECK(court.line() == "n3: start: process 5: aborted: no more (status 1)");
  }
}

TEST_CASE("a user's signal: the launcher dies of it; a second one kills", "[judge]") {
  Court court;
  court.all_run();
  court.judge.decision().interrupted(2);
  CHECK(court.status() == 130);
  CHECK(court.judge.verdict()->signal == 2);
  CHECK(court.judge.verdict()->end.signal == 2);
  CHECK(court.mode() == wire::EndMode::stop);
  court.judge.decision().interrupted(13);  // what we said of it was read by nobody
  CHECK(court.mode() == wire::EndMode::stop);
  court.judge.decision().interrupted(2);
  CHECK(court.mode() == wire::EndMode::kill);
  CHECK(court.status() == 130);
}

TEST_CASE("++kill ends a job as TERM would, and says that it was it; a second one kills", "[judge]") {
  Court court;
  court.all_run();
  court.judge.decision().interrupted(signals::kKill);
  CHECK(court.status() == 143);
  CHECK(court.judge.verdict()->signal == 15);
  CHECK(court.judge.verdict()->end.signal == 15);
  CHECK(court.judge.verdict()->why.how == "++kill");
  CHECK(court.line() == "++kill: ending the job; once more ends it at once");
  CHECK(court.mode() == wire::EndMode::stop);
  court.judge.decision().interrupted(signals::kKill);
  CHECK(court.mode() == wire::EndMode::kill);
  CHECK(court.status() == 143);
}

TEST_CASE("a signal to a job that is ending anyway kills", "[judge]") {
  Court court;
  court.all_run();
  court.ended(8, wire::Code{0, 4});
  SECTION("an interrupt, which keeps the verdict") {
    court.judge.decision().interrupted(2);
    CHECK(court.status() == 4);
    CHECK(court.judge.verdict()->signal == 0);
  }
  SECTION("one that ends other programs: it does not wait for its reader, and dies of it") {
    court.judge.decision().interrupted(15);
    CHECK(court.status() == 143);
    CHECK(court.judge.verdict()->signal == 15);
  }
  SECTION("a broken pipe: nobody reads its output, and that is all") {
    court.judge.decision().interrupted(13);
    CHECK(court.status() == 4);
  }
  CHECK(court.mode() == wire::EndMode::kill);
}

TEST_CASE("a signal that comes twice, as from `timeout`, leaves the grace", "[judge]") {
  Court court;
  court.all_run();
  court.judge.decision().interrupted(15);
  court.judge.decision().interrupted(15);
  court.judge.decision().interrupted(1);
  CHECK(court.status() == 143);
  CHECK(court.mode() == wire::EndMode::stop);
}

TEST_CASE("124 for the time limit, 125 for the launcher, 126 and 127 for the program", "[judge]") {
  Court court;
  SECTION("time limit") {
    court.judge.decision().time_limit_reached();
    CHECK(court.status() == 124);
  }
  SECTION("a lost host") {
    court.judge.on(wire::LinkLost{2, {Errc::link_lost, Phase::run, "connection reset"}});
    CHECK(court.status() == 125);
    CHECK(court.line() == "n3: run: connection reset");
  }
  SECTION("hosts") {
    const auto [code, status] = GENERATE(table<Errc, int>({{Errc::refused, 125},
                                                           {Errc::no_directory, 125},
                                                           {Errc::no_launcher, 125},
                                                           {Errc::not_executable, 126},
                                                           {Errc::no_program, 127}}));
    for (std::uint32_t host = 0; host < 4; ++host) court.fails(host, {code, Phase::spawn, "x"});
    CHECK(court.status() == status);
    CHECK(court.judge.verdict()->lines == std::vector<std::string>{"n[1-4]: spawn: x (4 hosts)"});
  }
}

TEST_CASE("a failed host waits until all have answered", "[judge]") {
  Court court;
  court.fails(3, {Errc::refused, Phase::connect, "refused"});
  court.fails(1, {Errc::no_such_host, Phase::resolve, "no such host"});
  wire::Facts up;
  up.hosts_up = {0};
  court.judge.on(up, kNow);
  CHECK(court.status() == -1);
  up.hosts_up = {2};
  court.judge.on(up, kNow);
  CHECK(court.status() == 125);
  CHECK(court.judge.verdict()->lines ==
        std::vector<std::string>{"n2: resolve: no such host", "n4: connect: refused"});
}

TEST_CASE("hosts without any news are given up at last", "[judge]") {
  Court court;
  wire::Facts up;
  up.hosts_up = {0, 1};
  court.judge.on(up, kNow + 100s);
  const Instant deadline = court.judge.next_deadline();
  CHECK(deadline == kNow + 100s + 180s);
  court.judge.tick(deadline - 1ns);
  CHECK(court.status() == -1);
  court.judge.tick(deadline);
  CHECK(court.status() == 125);
  CHECK(court.line().starts_with("n[3-4]: hello: no news from its launcher for 180 s"));
}

TEST_CASE("nobody is late to register while hosts are still being started", "[judge]") {
  Court court;
  wire::Facts first, last;
  first.hosts_up = {0, 1, 2};
  first.registered = 6;
  last.hosts_up = {3};
  court.judge.on(first, kNow);
  court.judge.tick(kNow + 61s);
  CHECK_FALSE(court.judge.verdict());
  court.judge.on(last, kNow + 100s);
  CHECK(court.judge.next_deadline() == kNow + 160s);
  court.judge.tick(kNow + 160s);
  CHECK(court.status() == 125);
}

TEST_CASE("who does not register in time is named by host", "[judge]") {
  Court court;
  court.all_up();
  wire::Facts some;
  some.registered = 6;
  some.blocks = {{0, 0, 1, {{1, {}}, {1, {}}}}, {1, 2, 1, {{1, {}}, {1, {}}}}, {3, 6, 1, {{1, {}}, {1, {}}}}};
  court.judge.on(some, kNow);
  CHECK_FALSE(court.judge.take_blocks());
  CHECK(court.judge.next_deadline() == kNow + 60s);
  court.judge.tick(kNow + 60s);
  CHECK(court.status() == 125);
  CHECK(court.line().starts_with("n3: start: 2 of 8 processes have not registered within 60 s"));
}

TEST_CASE("programs that never register have no limit", "[judge]") {
  Court court;
  court.all_up();
  CHECK(court.judge.next_deadline() == kNever);
}

TEST_CASE("a barrier opens when all processes have entered, once", "[judge]") {
  Court court;
  court.all_run();
  wire::Facts half;
  half.barrier = {4, 8, 0};
  court.judge.on(half, kNow);
  CHECK_FALSE(court.judge.take_release(BarrierKind::all));
  CHECK(court.judge.take_release(BarrierKind::root));
  CHECK_FALSE(court.judge.take_release(BarrierKind::root));
  half.barrier = {4, 0, 0};
  court.judge.on(half, kNow);
  CHECK(court.judge.take_release(BarrierKind::all));
  CHECK_FALSE(court.judge.take_release(BarrierKind::all));
}

TEST_CASE("a process is found on its host", "[judge]") {
  Court court;
  CHECK(court.judge.places().host_of(0).name == "n1");
  CHECK(court.judge.places().host_of(5).name == "n3");
  CHECK(court.judge.places().host_of(7).name == "n4");
}

TEST_CASE("a job's status follows its start", "[judge]") {
  Court court;
  wire::Facts facts;
  facts.hosts_up = {0, 2};
  court.judge.on(facts, kNow);
  JobStatus status = court.judge.status();
  CHECK(status.stage == Stage::launch);
  CHECK((status.hosts == 4 && status.hosts_up == 2 && status.processes == 8));
  CHECK(status.late == std::vector<std::string>{"n2", "n4"});
  court.all_up();
  CHECK(court.judge.status().stage == Stage::run);  // nobody says that it is more than a plain program
  facts = {};
  facts.registered = 2;
  facts.blocks = {{1, 2, 1, {{1, {}}, {2, {}}}}};
  court.judge.on(facts, kNow);
  status = court.judge.status();
  CHECK(status.stage == Stage::start);
  CHECK(status.late == std::vector<std::string>{"n1", "n3", "n4"});
  Court other;
  other.all_run();
  CHECK(other.judge.status().stage == Stage::run);
  CHECK(other.judge.status().late.empty());
  other.judge.decision().interrupted(2);
  CHECK(other.judge.status().stage == Stage::end);
}

}  // namespace charmtree::judge_test
