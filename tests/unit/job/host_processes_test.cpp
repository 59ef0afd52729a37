// SPDX-License-Identifier: Apache-2.0
#include "tree/job/host_processes.hpp"

#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "tests/unit/charm_capture.hpp"
#include "tests/unit/what_happened.hpp"
#include "tree/clients/pmix/pmix_message.hpp"
#include "tree/wire/charm_message.hpp"

namespace charmtree::host_processes_test {

using namespace charmtree::proto;
using wire::make_charm_message;

namespace {

constexpr Instant kNow{1s};

/// A host with the processes 0 and 1 of a job of `total`.
class Fixture {
public:
  explicit Fixture(std::uint32_t total = 2, std::uint32_t own = 2, std::uint32_t pes = 1) {
    job->pes_per_process = pes;
    job->processes = total;
    Host host;
    host.index = 4;
    host.processes = own;
    processes.emplace(job, host);
  }
  template <class E>
  void on(const E& event, Instant now = kNow) {
    processes->on(event, now, out, up);
    if constexpr (std::is_same_v<E, Prepared>) processes->spawn(out);
  }
  void start() {
    on(Prepared{0x0A000001});
    on(Spawned{0});
    on(Spawned{1});
  }
  void register_both() {
    start();
    for (const std::uint32_t process : {0U, 1U}) {
      on(ClientOpened{ClientKind::charm, process});
      on(ClientBytes{ClientKind::charm, process,
                     process == 0 ? charm_capture::kInitnode0 : charm_capture::kInitnode1});
    }
  }
  void run() {
    register_both();
    processes->table(wire::encode(wire::NodeTable{0, 1, up.facts.blocks}), kNow, out, up);
    for (const std::uint32_t process : {0U, 1U}) on(OutputDrained{process});
    forget();
  }
  void says(std::uint32_t process, std::string_view type, std::string_view text, Instant now = kNow) {
    on(ClientBytes{ClientKind::charm, process, make_charm_message(type, std::string{text} + '\0')}, now);
  }
  void forget() {
    out.clear();
    up = {};
  }
  /// The text of all outputs of a process, in order.
  std::string text_of(std::uint32_t process) const {
    std::string text;
    for (const wire::Message& message : up.messages) {
      const auto* output = get_if<wire::Output>(&message);
      if (output != nullptr && output->process == process) text += output->text;
    }
    return text;
  }
  /// The abort that has gone up; process 99: none.
  wire::AbortUp abort() const {
    for (const wire::Message& message : up.messages) {
      if (const auto* abort = get_if<wire::AbortUp>(&message)) return *abort;
    }
    return {99, 0, {}};
  }
  template <class A>
  std::size_t count() const {
    return static_cast<std::size_t>(
        std::count_if(out.begin(), out.end(), [](const Action& a) { return holds_alternative<A>(a); }));
  }

  std::shared_ptr<wire::JobSpec> job = std::make_shared<wire::JobSpec>();
  std::optional<HostProcesses> processes;
  Actions out;
  Upward up;
};

}  // namespace

TEST_CASE("a host is up when all of its processes are started", "[host_processes]") {
  Fixture fixture;
  fixture.processes->prepare(false, fixture.out);
  CHECK(fixture.count<Prepare>() == 1);
  fixture.on(Prepared{1});
  CHECK(fixture.count<Spawn>() == 2);
  CHECK(fixture.processes->alive() == 2);
  fixture.on(Spawned{0});
  CHECK(fixture.up.facts.hosts_up.empty());
  fixture.on(Spawned{1});
  CHECK(fixture.up.facts.hosts_up == std::vector<std::uint32_t>{4});
}

TEST_CASE("processes to which PMIx is on offer are started without its helper, later ones wait for it",
          "[host_processes]") {
  Fixture fixture;
  fixture.job->spawn.mpi = {wire::MpiService::Pmi::one, wire::MpiService::Pmix::offered, {{4, 1, 2}}};
  fixture.job->spawn.mpi.name_space = "unguessed";
  Host host;
  host.index = 4;
  host.processes = 2;
  fixture.processes.emplace(fixture.job, host);
  fixture.processes->prepare(false, fixture.out);
  fixture.on(Prepared{1});
  CHECK(fixture.count<StartPmix>() == 0);
  REQUIRE(fixture.count<Spawn>() == 2);
  for (const Spawn& spawn : test::only<Spawn>(fixture.out)) {
    const auto finds = [&](const std::string& variable) {
      return std::count(spawn.environment.begin(), spawn.environment.end(), variable) == 1;
    };
    CHECK(finds("PMIX_NAMESPACE=charmtree-unguessed-0"));
    CHECK(finds("PMIX_RANK=" + std::to_string(spawn.process)));
    CHECK(finds("PMIX_HOSTNAME=host4"));
  }
}

TEST_CASE("a host that waits for the others answers when the helper of its processes does",
          "[host_processes]") {
  Fixture fixture;
  fixture.job->spawn.mpi = {
      wire::MpiService::Pmi::none, wire::MpiService::Pmix::needed, {{4, 1, 2}}, {"a", "b", "c", "d", "e"}};
  Host host;
  host.index = 4;
  host.processes = 2;
  fixture.processes.emplace(fixture.job, host);
  const auto helper_says = [&](const pmix::Message& message) {
    fixture.on(ClientOpened{ClientKind::pmix, 7});
    fixture.on(ClientBytes{ClientKind::pmix, 7, pmix::encode(message)});
  };
  fixture.processes->prepare(true, fixture.out);
  fixture.on(Prepared{1});
  CHECK(fixture.count<StartPmix>() == 1);
  CHECK(fixture.count<Spawn>() == 0);
  CHECK(fixture.up.facts.hosts_up.empty());
  SECTION("it serves them") {
    helper_says(pmix::Serving{0, {{"A=b"}, {"A=b"}}});
    CHECK(fixture.up.facts.hosts_up == std::vector<std::uint32_t>{4});
    CHECK_FALSE(fixture.processes->waits_to_spawn());
    fixture.processes->go();
    CHECK(fixture.processes->spawned_at() == kNever);
    CHECK(fixture.processes->waits_to_spawn());
  }
  SECTION("it cannot serve them") {
    helper_says(pmix::Failed{"no libpmix", "install it"});
    CHECK(fixture.up.facts.hosts_up.empty());
    CHECK(fixture.up.facts.hosts_failed.at(0).host == 4);
  }
  SECTION("it cannot be started") {
    fixture.on(SpawnFailed{0, Error{Errc::spawn_failed, Phase::spawn, "no descriptors", {}}});
    CHECK(fixture.up.facts.hosts_failed.at(0).host == 4);
    CHECK(fixture.processes->alive() == 0);
  }
}

TEST_CASE("processes that wait for those of other hosts are started by a word", "[host_processes]") {
  Fixture other;
  other.processes->prepare(true, other.out);
  other.on(Prepared{1});
  CHECK(other.count<Spawn>() == 0);
  other.processes->go();
  other.processes->spawn(other.out);
  CHECK(other.count<Spawn>() == 2);
  other.up = {};
  for (const std::uint32_t process : {0U, 1U}) other.on(Spawned{process});
  CHECK(other.up.facts.hosts_up == std::vector<std::uint32_t>{4});
}

TEST_CASE("what a host consists of is looked for behind its processes, where several will ask",
          "[host_processes]") {
  for (const std::uint32_t own : {1U, 2U}) {
    for (const bool asks : {false, true}) {
      Fixture fixture{2, own};
      if (asks) fixture.job->spawn.mpi.library = wire::Mpi::mpich;
      fixture.on(Prepared{1});
      CHECK(fixture.count<DescribeTopology>() == (asks && own > 1 ? 1 : 0));
      CHECK((!asks || own == 1 || fixture.out.back().is<DescribeTopology>()));
    }
  }
}

TEST_CASE("many processes are started a few at a time", "[host_processes]") {
  auto job = std::make_shared<wire::JobSpec>();
  job->processes = 10;
  Host host;
  host.processes = 10;
  HostProcesses processes{job, host};
  Actions out;
  Upward up;
  processes.spawn(out);
  CHECK(out.empty());
  processes.on(Prepared{1}, kNow, out, up);
  for (const std::size_t spawned : {4U, 8U, 10U}) {
    CHECK(processes.waits_to_spawn());
    processes.spawn(out);
    CHECK(out.size() == spawned);
  }
  CHECK_FALSE(processes.waits_to_spawn());
  CHECK(processes.alive() == 10);
}

TEST_CASE("after one process could not be started no more are", "[host_processes]") {
  Fixture fixture{10, 10};
  fixture.on(Prepared{1});
  fixture.on(SpawnFailed{0, {Errc::no_program, Phase::spawn, "./app"}});
  CHECK_FALSE(fixture.processes->waits_to_spawn());
  CHECK(fixture.processes->alive() == 3);
}

TEST_CASE("a host that is not ready or cannot start a process has failed, once", "[host_processes]") {
  Fixture fixture;
  const Error error{Errc::no_directory, Phase::spawn, "no directory /x"};
  SECTION("not ready") {
    fixture.on(Prepared{0, error, false});
    CHECK(fixture.count<Spawn>() == 0);
  }
  SECTION("no process") {
    fixture.on(Prepared{1});
    fixture.on(SpawnFailed{0, error});
    fixture.on(SpawnFailed{1, error});
    CHECK(fixture.processes->alive() == 0);
  }
  SECTION("one process") {
    fixture.on(Prepared{1});
    fixture.on(SpawnFailed{0, error});
    fixture.on(Spawned{1});
    CHECK(fixture.processes->alive() == 1);
  }
  CHECK(fixture.processes->failed());
  CHECK(fixture.up.facts.hosts_up.empty());
  CHECK(fixture.up.facts.hosts_failed == std::vector<wire::HostFailure>{{4, error}});
}

TEST_CASE("tuples go up together, with the address that others can reach", "[host_processes]") {
  Fixture fixture;
  fixture.register_both();
  CHECK(fixture.processes->all_registered());
  CHECK(fixture.up.facts.registered == 2);
  REQUIRE(fixture.up.facts.blocks.size() == 1);
  const wire::TupleBlock& block = fixture.up.facts.blocks[0];
  CHECK((block.host == 4 && block.first_process == 0 && block.address == 0x0A000001 &&
         block.tuples.size() == 2));
}

TEST_CASE("raw output counts until the table is there, then it is a copy", "[host_processes]") {
  Fixture fixture;
  fixture.start();
  fixture.on(ProcessOutput{0, Stream::out, "early\npart"});
  CHECK(fixture.text_of(0) == "early\n");
  fixture.register_both();
  fixture.processes->table(wire::encode(wire::NodeTable{0, 1, fixture.up.facts.blocks}), kNow, fixture.out,
                           fixture.up);
  CHECK(fixture.count<DrainOutput>() == 2);
  fixture.on(ProcessOutput{0, Stream::out, "ial"});  // was in the pipe before the table
  fixture.on(OutputDrained{0});
  fixture.on(ProcessOutput{0, Stream::out, "copy\n"});
  fixture.says(0, "print", "own\n");
  CHECK(fixture.text_of(0) == "early\npartialown\n");
}

TEST_CASE("a lost connection waits for the exit that explains it", "[host_processes]") {
  Fixture fixture;
  fixture.run();
  fixture.on(ClientClosed{ClientKind::charm, 1});
  CHECK(fixture.up.facts.exits.empty());
  const Instant deadline = fixture.processes->next_deadline();
  CHECK(deadline == kNow + HostEnds::kExplain);
  SECTION("which comes") {
    fixture.on(ProcessExited{1, 0, 11, true}, kNow + 100ms);
    fixture.processes->tick(deadline, fixture.out, fixture.up);
    CHECK(fixture.up.facts.exits == std::vector<wire::ProcessExit>{{1, 0, 11, true, true}});
  }
  SECTION("which does not come") {
    fixture.processes->tick(deadline, fixture.out, fixture.up);
    REQUIRE(fixture.up.facts.exits.size() == 1);
    CHECK(fixture.up.facts.exits[0].lost_connection);
    fixture.on(ProcessExited{1, 0, 9}, kNow + 1s);
    CHECK(fixture.up.facts.exits.size() == 1);
  }
}

TEST_CASE("a stock client's exit status never counts after its ending", "[host_processes]") {
  Fixture fixture;
  fixture.run();
  fixture.says(1, "ending", "3");
  CHECK(fixture.up.facts.ended == 1);
  CHECK(fixture.up.facts.code == wire::Code{1, 3});
  fixture.on(ClientClosed{ClientKind::charm, 1});
  fixture.on(ProcessExited{1, 1});
  CHECK(fixture.up.facts.exits.empty());
  CHECK(fixture.up.facts.exited_ok == 0);
  CHECK(fixture.processes->next_deadline() == kNever);
}

TEST_CASE("an abort is a process's end, told once", "[host_processes]") {
  Fixture fixture;
  fixture.run();
  fixture.says(0, "print", "last words");
  fixture.says(0, "abort", "why");
  fixture.on(ClientClosed{ClientKind::charm, 0});
  fixture.on(ProcessExited{0, 1});
  CHECK(fixture.text_of(0) == "last words");
  CHECK(holds_alternative<wire::AbortUp>(fixture.up.messages.back()));
  CHECK(fixture.up.facts.exits.empty());
}

TEST_CASE("the first that fails is told with its last words, and how a signal ended it", "[host_processes]") {
  Fixture fixture;
  SECTION("plain") {
    fixture.start();
    fixture.on(ProcessOutput{0, Stream::out, "not these\n"});
    fixture.on(ProcessOutput{0, Stream::err, std::string(2000, 'x') + "\n"});
    fixture.on(ProcessOutput{0, Stream::err, "the end\n"});
    fixture.on(ProcessOutput{1, Stream::err, "mine\n"});
    ProcessExited killed{0, 0, 11, true};
    killed.note = "core dumped to /home/core.1";
    fixture.on(killed);
    fixture.on(ProcessExited{1, 3});
    REQUIRE(fixture.up.facts.exits.size() == 2);
    CHECK(fixture.up.facts.exits[0].text == "core dumped to /home/core.1");
    CHECK(fixture.up.facts.exits[0].last_words.size() == LastWords::kMaxBytes);
    CHECK(lines_of_last_words(fixture.up.facts.exits[0].last_words) == std::vector<std::string>{"the end"});
    CHECK(fixture.up.facts.exits[1].last_words.empty());
  }
  SECTION("a stock client's stderr comes as messages") {
    fixture.run();
    fixture.says(1, "printerr", "reason\n");
    fixture.says(1, "abort", "why");
    const auto& abort = get<wire::AbortUp>(fixture.up.messages.back());
    CHECK(abort.last_words == "reason\n");
  }
}

TEST_CASE("last words are few lines, and safe for a terminal", "[host_processes]") {
  using Lines = std::vector<std::string>;
  CHECK(lines_of_last_words("").empty());
  CHECK(lines_of_last_words("\n\n").empty());
  CHECK(lines_of_last_words("a\tb\x1b[1m\r\n\nc") == Lines{"a\tb[1m", "", "c"});
  std::string many;
  for (int i = 0; i < 20; ++i) many += fmt::format("{}\n", i);
  CHECK(lines_of_last_words(many).front() == "12");
  CHECK(lines_of_last_words(many).back() == "19");
  CHECK(lines_of_last_words(std::string(LastWords::kMaxBytes, 'x')).front().starts_with("...x"));
}

TEST_CASE("a missing library is named, a plain success only counted", "[host_processes]") {
  Fixture fixture;
  fixture.start();
  fixture.on(
      ProcessOutput{0, Stream::err, "./app: error while loading shared libraries: libx.so.1: cannot open"});
  fixture.on(ProcessOutput{0, Stream::err, " shared object file: No such file or directory\n"});
  fixture.on(ProcessExited{0, 127});
  fixture.on(ProcessExited{1, 0});
  fixture.on(ProcessExited{1, 7});  // told already
  REQUIRE(fixture.up.facts.exits.size() == 1);
  CHECK(fixture.up.facts.exits[0].text ==
        "libx.so.1: cannot open shared object file: No such file or directory");
  CHECK_FALSE(fixture.up.facts.exits[0].registered);
  CHECK(fixture.up.facts.exited_ok == 1);
  CHECK(fixture.up.facts.first_ok == 1U);
  CHECK(fixture.processes->alive() == 0);
}

TEST_CASE("the end: stock clients are let go, others get the signal, what is left is killed",
          "[host_processes]") {
  Fixture fixture;
  fixture.start();
  fixture.on(ClientOpened{ClientKind::charm, 0});
  fixture.on(ClientBytes{ClientKind::charm, 0, charm_capture::kInitnode0});
  fixture.forget();
  fixture.processes->finish(15, kNow, fixture.out, fixture.up);
  std::vector<std::uint32_t> signalled;
  for (const Action& action : fixture.out) {
    if (const auto* signal = get_if<proto::Signal>(&action)) signalled.push_back(signal->process);
  }
  CHECK(signalled == std::vector<std::uint32_t>{1});
  CHECK(fixture.count<ClientClose>() == 1);
  fixture.on(ProcessExited{1, 0, 15});
  fixture.forget();
  fixture.processes->signal(9, fixture.out);
  REQUIRE(fixture.out.size() == 1);
  CHECK(get<proto::Signal>(fixture.out[0]).process == 0);
  CHECK(get<proto::Signal>(fixture.out[0]).signal == 9);
}

TEST_CASE("an end that comes before the host is ready starts nothing", "[host_processes]") {
  Fixture fixture;
  fixture.processes->finish(15, kNow, fixture.out, fixture.up);
  fixture.forget();
  fixture.on(Prepared{1});
  CHECK(fixture.out.empty());
  CHECK(fixture.processes->alive() == 0);
}

TEST_CASE("a job of one process passes its bytes unchanged", "[host_processes]") {
  Fixture fixture{1, 1};
  fixture.on(Prepared{1});
  fixture.on(Spawned{0});
  fixture.on(ProcessOutput{0, Stream::out, "no newline"});
  REQUIRE(fixture.up.messages.size() == 1);
  CHECK(get<wire::Output>(fixture.up.messages[0]).text == "no newline");
}

TEST_CASE("an exit waits until the connection has been read to its end", "[host_processes]") {
  Fixture fixture;
  fixture.run();
  fixture.on(ProcessExited{1, 1});
  CHECK(fixture.up.facts.exits.empty());
  fixture.says(1, "print", "last words\n");
  CHECK(fixture.text_of(1) == "last words\n");
  SECTION("which brings the reason of an abort") {
    fixture.says(1, "abort", "Fatal error on PE 1> no");
    CHECK(fixture.up.facts.exits.empty());
    CHECK(std::count_if(fixture.up.messages.begin(), fixture.up.messages.end(),
                        [](const auto& m) { return holds_alternative<wire::AbortUp>(m); }) == 1);
    CHECK(fixture.processes->next_deadline() == kNever);
  }
  SECTION("or the proper end") {
    fixture.says(1, "ending", "0");
    CHECK(fixture.up.facts.exits.empty());
    CHECK(fixture.up.facts.ended == 1);
  }
  SECTION("or nothing more") {
    fixture.on(ClientClosed{ClientKind::charm, 1});
    REQUIRE(fixture.up.facts.exits.size() == 1);
    CHECK(fixture.up.facts.exits[0].code == 1);
  }
  SECTION("unless somebody holds it open") {
    const Instant late = kNow + HostEnds::kLastWords;
    fixture.says(1, "print", "partial", late - 1ms);
    CHECK(fixture.processes->next_deadline() <= late - 1ms + HostEnds::kLastWords);
    fixture.processes->tick(late, fixture.out, fixture.up);
    CHECK(fixture.up.facts.exits.empty());
    fixture.processes->tick(late - 1ms + HostEnds::kLastWords, fixture.out, fixture.up);
    CHECK(fixture.up.facts.exits.size() == 1);
    CHECK(fixture.text_of(1) == "last words\npartial");
  }
}

TEST_CASE("no sign of life after a table with several PEs ends the job with a guess", "[host_processes]") {
  Fixture fixture{2, 2, 3};
  fixture.run();
  const Instant late = kNow + 60s;
  CHECK(fixture.processes->next_deadline() == late);
  fixture.processes->tick(late - 1ms, fixture.out, fixture.up);
  CHECK(fixture.abort().process == 99);
  fixture.processes->tick(late, fixture.out, fixture.up);
  CHECK(fixture.abort().process == 0);
  CHECK(fixture.abort().code == 125);
  CHECK(fixture.abort().text ==
        "no sign of life within 60 s of a node table that gives each process 3 PEs; leave out ++ppn and "
        "++smp if "
        "this is no SMP build of Charm++");
  CHECK(fixture.processes->next_deadline() == kNever);
}

TEST_CASE("any word of a client, the end of the job, or one PE: silence is nobody's fault",
          "[host_processes]") {
  Fixture speaks{2, 2, 3};
  speaks.run();
  speaks.on(ClientBytes{ClientKind::charm, 1, make_charm_message("ping", "")});
  CHECK(speaks.processes->next_deadline() == kNever);
  Fixture ends{2, 2, 3};
  ends.run();
  ends.processes->finish(15, kNow, ends.out, ends.up);
  CHECK(ends.processes->next_deadline() == kNever);
  Fixture single;
  single.run();
  CHECK(single.processes->next_deadline() == kNever);
}

TEST_CASE("a client that says it is no SMP build cannot have several PEs", "[host_processes]") {
  constexpr std::string_view kLine = "Charm++> Running in non-SMP mode: 2 processes (PEs)\n";
  Fixture several{2, 2, 3};
  several.run();
  several.says(0, "print", "Charm++> Running in SMP mode: 2 processes, 3 worker threads (PEs)\n");
  CHECK(several.abort().process == 99);
  several.says(0, "print", kLine);
  CHECK(several.abort().code == 125);
  CHECK(several.abort().text.starts_with(
      "it runs in non-SMP mode with a node table that gives each process 3 PEs"));
  CHECK(several.text_of(0).ends_with(kLine));
  Fixture one;
  one.run();
  one.says(0, "print", kLine);
  CHECK(one.abort().process == 99);
}

TEST_CASE("what a client writes where it copies nothing is carried on behind the table", "[host_processes]") {
  Fixture fixture;
  fixture.run();
  fixture.on(OutputDrained{0, {}, {false, true}});
  fixture.forget();
  fixture.on(ProcessOutput{0, Stream::out, "own\n"});
  fixture.on(ProcessOutput{0, Stream::err, "copy\n"});
  CHECK(fixture.text_of(0) == "own\n");
}

TEST_CASE("what a client prints comes once if it is on the process's terminal, too", "[host_processes]") {
  Fixture fixture;
  fixture.run();
  fixture.on(ProcessOutput{0, Stream::terminal, "prompt> "});
  CHECK(fixture.text_of(0) == "prompt> ");  // as it comes, and also behind the table
  fixture.on(OutputDrained{0, {true, false}});
  fixture.forget();

  fixture.says(0, "print", "line\n");
  fixture.on(ProcessOutput{0, Stream::terminal, std::string{"line\r\n\0", 7}});
  CHECK(fixture.text_of(0) == "line\r\n");
  fixture.says(0, "printerr", "not there\n");
  CHECK(fixture.text_of(0) == "line\r\nnot there\n");

  fixture.forget();
  fixture.says(0, "printsyn", "waits\n");
  REQUIRE(fixture.up.messages.size() == 1);
  const auto& output = get<wire::Output>(fixture.up.messages.front());
  CHECK(output.text.empty());
  CHECK(output.wants_receipt);
}

}  // namespace charmtree::host_processes_test
