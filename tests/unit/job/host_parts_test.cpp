// SPDX-License-Identifier: Apache-2.0
// The parts of HostProcesses, each by itself.
#include <catch2/catch.hpp>

#include "tests/unit/what_happened.hpp"
#include "tree/job/host_barriers.hpp"
#include "tree/job/host_ends.hpp"
#include "tree/job/host_output.hpp"
#include "tree/job/host_registration.hpp"
#include "tree/job/host_start.hpp"
#include "tree/job/smp_check.hpp"

namespace charmtree::host_parts_test {

using namespace charmtree::proto;

namespace {

constexpr Instant kNow{1s};

/// Processes 2, 3 and 4 of six, on host 7.
struct Fixture {
  Fixture() {
    host.first_process = 2;
    host.processes = 3;
    job.processes = 6;
    own = OwnProcesses(host, 6);
  }
  HostTurn turn(Instant now = kNow) { return {job, 7, own, now, out, up}; }
  void run(std::uint32_t process) {
    own.starts(process);
    own.at(process).state = OwnProcess::State::running;
  }

  Host host;
  wire::JobSpec job;
  OwnProcesses own{host, 0};
  Actions out;
  Upward up;
};

/// The host is ready, and its processes are being started.
void begin(HostStart& start, HostTurn& turn, bool can_fork = false) {
  Prepared ready{0x0A000001};
  ready.can_fork = can_fork;
  start.on(ready, turn);
  start.spawn(turn);
}

/// Another one takes its place.
void replace(std::uint32_t process, HostStart& start, HostTurn& turn) {
  turn.own.is_gone(process);
  turn.own.at(process).successor.order({.process = process, .restarts = 1});
  start.start_successor(process, turn);
}

ProcessOutput wrote(std::uint32_t process, Stream stream, std::string bytes) {
  ProcessOutput event;
  event.process = process;
  event.stream = stream;
  event.bytes = std::move(bytes);
  return event;
}

std::string text_of(const std::vector<wire::Message>& messages) {
  std::string text;
  for (const wire::Message& message : messages) {
    if (const auto* output = get_if<wire::Output>(&message)) text += output->text;
  }
  return text;
}

}  // namespace

TEST_CASE("a host's processes are spawned a few at a time, and the host is up when all have been", "[host]") {
  Fixture f;
  f.host.processes = HostStart::kSpawnsAtOnce + 1;
  f.own = OwnProcesses(f.host, 6);
  HostStart start;
  HostTurn turn = f.turn();
  start.spawn(turn);
  CHECK(f.out.empty());  // it has not been prepared
  start.on(Prepared{0x0A000001}, turn);
  start.spawn(turn);
  CHECK(f.out.size() == HostStart::kSpawnsAtOnce);
  CHECK(start.waits_to_spawn(f.own));
  start.spawn(turn);
  CHECK_FALSE(start.waits_to_spawn(f.own));
  CHECK(f.own.alive() == HostStart::kSpawnsAtOnce + 1);
  for (std::uint32_t i = 0; i < HostStart::kSpawnsAtOnce; ++i) start.on(Spawned{2 + i}, turn);
  CHECK(f.up.facts.hosts_up.empty());
  start.on(Spawned{2 + HostStart::kSpawnsAtOnce}, turn);
  CHECK(f.up.facts.hosts_up == std::vector<std::uint32_t>{7});
  CHECK(start.spawned_at() == kNow);
}

TEST_CASE("a host tells what it calls its processes, all at once, then those that come later", "[host]") {
  Fixture f;
  HostStart start;
  HostTurn turn = f.turn();
  begin(start, turn);
  start.on(Spawned{3, 4712}, turn);
  start.on(Spawned{4, 4713}, turn);
  CHECK(f.up.facts.process_ids.empty());
  start.on(Spawned{2, 4711}, turn);
  CHECK(f.up.facts.process_ids == std::vector<wire::ProcessIds>{{7, 2, {4711, 4712, 4713}}});
  f.up.facts.process_ids.clear();
  replace(3, start, turn);
  start.on(Spawned{3, 4800}, turn);
  CHECK(f.up.facts.process_ids == std::vector<wire::ProcessIds>{{7, 3, {4800}}});
}

TEST_CASE("processes are held for a debugger, but neither their successors nor who forks others", "[host]") {
  Fixture f;
  f.job.spawn.held = true;
  HostStart start;
  HostTurn turn = f.turn();
  const auto held = [&](std::uint32_t process) {
    for (const Action& action : f.out) {
      const auto* spawn = get_if<Spawn>(&action);
      if (spawn != nullptr && spawn->process == process) return spawn->held;
    }
    return false;
  };
  SECTION("the first of each number") {
    begin(start, turn);
    CHECK((held(2) && held(3)));
    f.out.clear();
    start.on(Spawned{2, 1}, turn);
    replace(2, start, turn);
    CHECK_FALSE(held(2));
  }
  SECTION("one that forks others") {
    f.job.spawn.fork_clients = wire::ForkClients::always;
    begin(start, turn, true);
    CHECK(f.out.size() == 1);
    CHECK_FALSE(held(2));
  }
}

TEST_CASE("a process that cannot be spawned fails the host, once", "[host]") {
  Fixture f;
  HostStart start;
  HostTurn turn = f.turn();
  begin(start, turn);
  start.on(SpawnFailed{2, {Errc::no_program, Phase::run, "no", {}}}, turn);
  start.on(SpawnFailed{3, {Errc::no_program, Phase::run, "no", {}}}, turn);
  CHECK(start.failed());
  CHECK(f.own.alive() == 1);
  REQUIRE(f.up.facts.hosts_failed.size() == 1);
  CHECK(f.up.facts.hosts_failed[0].host == 7);
}

TEST_CASE("a successor reads what was written while its predecessor was there", "[host]") {
  Fixture f;
  f.run(3);
  OwnProcess& process = f.own.at(3);
  process.tuple.port = 99;
  process.request = "half a request";
  wire::Restart order;
  order.process = 3;
  order.restarts = 2;
  process.successor.order(order);
  process.successor.write("one ", false);
  process.successor.write("two", true);
  HostStart start;
  HostTurn turn = f.turn();
  f.own.is_gone(3);
  start.start_successor(3, turn);
  REQUIRE(f.out.size() == 2);
  CHECK(get<Spawn>(f.out[0]).restarts == 2);
  CHECK(get<WriteInput>(f.out[1]).bytes == "one two");
  CHECK(get<WriteInput>(f.out[1]).end);
  CHECK_FALSE(process.successor.is_ordered());
  CHECK(process.request.empty());
  CHECK(process.tuple.port == 99);  // the host's first table has it yet to be told
}

TEST_CASE("tuples go up together, and who is awaited rejoins by itself", "[host]") {
  Fixture f;
  HostRegistration registration;
  HostTurn turn = f.turn();
  const ReadyHost ready{0x0A000001, {}, false, false};
  for (std::uint32_t process = 2; process < 5; ++process) {
    CHECK(f.up.facts.blocks.empty());
    CHECK_FALSE(registration.all_registered(f.own));
    f.own.at(process).register_with(ClientKind::native, ProgramKind::native);
    registration.add(Registered{process, {static_cast<std::uint16_t>(process), {}}}, ready, turn);
  }
  CHECK(registration.all_registered(f.own));
  CHECK(registration.registered_at() == kNow);
  REQUIRE(f.up.facts.blocks.size() == 1);
  CHECK(f.up.facts.blocks[0].first_process == 2);
  CHECK(f.up.facts.blocks[0].tuples.size() == 3);
  CHECK(f.up.messages.empty());

  f.own.at(3).awaited = true;
  registration.add(Registered{3, {33, {}}}, ready, turn);
  CHECK(f.up.facts.registered == 3);
  REQUIRE(f.up.messages.size() == 1);
  CHECK(get<wire::Rejoined>(f.up.messages[0]).port == 33);
}

TEST_CASE("an exit waits for what its process may still say, no longer than it speaks", "[host]") {
  Fixture f;
  f.run(2);
  f.own.at(2).register_with(ClientKind::native, ProgramKind::native);
  HostEnds ends;
  HostTurn turn = f.turn();
  ProcessExited exit;
  exit.process = 2;
  exit.code = 3;
  ends.on(exit, turn);
  CHECK(f.up.facts.exits.empty());
  CHECK(f.own.at(2).end.next_deadline() == kNow + HostEnds::kLastWords);
  HostEnds::heard(f.own.at(2), kNow + 1s);
  HostTurn early = f.turn(kNow + HostEnds::kLastWords);
  ends.tick(2, early);
  CHECK(f.up.facts.exits.empty());
  HostTurn late = f.turn(kNow + 1s + HostEnds::kLastWords);
  ends.tick(2, late);
  REQUIRE(f.up.facts.exits.size() == 1);
  CHECK(f.up.facts.exits[0].code == 3);
  CHECK(f.up.facts.exits[0].registered);
  CHECK(f.own.at(2).end.next_deadline() == kNever);
}

TEST_CASE("a lost connection is explained by the exit that follows it", "[host]") {
  Fixture f;
  f.run(2);
  f.own.at(2).register_with(ClientKind::native, ProgramKind::native);
  HostEnds ends;
  HostTurn turn = f.turn();
  ClientLost lost{2, "reset by peer"};
  ends.says(lost, turn);
  SECTION("which comes") {
    ProcessExited exit;
    exit.process = 2;
    exit.signal = 9;
    ends.on(exit, turn);
    REQUIRE(f.up.facts.exits.size() == 1);
    CHECK(f.up.facts.exits[0].signal == 9);
    CHECK_FALSE(f.up.facts.exits[0].lost_connection);
    CHECK(f.own.at(2).end.next_deadline() == kNever);
  }
  SECTION("or does not") {
    HostTurn late = f.turn(kNow + HostEnds::kExplain);
    ends.tick(2, late);
    REQUIRE(f.up.facts.exits.size() == 1);
    CHECK(f.up.facts.exits[0].lost_connection);
    CHECK(f.up.facts.exits[0].text == "reset by peer");
  }
}

TEST_CASE("a new epoch tells anew who is in a barrier", "[host]") {
  Fixture f;
  HostBarriers barriers;
  HostTurn turn = f.turn();
  barriers.entered({2, BarrierKind::all}, turn);
  barriers.entered({3, BarrierKind::leave}, turn);
  f.own.at(4).end.told = true;
  barriers.entered({4, BarrierKind::all}, turn);  // it is not the process any more
  CHECK(f.up.facts.barrier == std::array<std::uint32_t, 3>{1, 0, 1});
  SECTION("after a loss, of all kinds") {
    f.up = {};
    barriers.lost(5, turn);
    CHECK(f.up.facts.epoch == 5);
    CHECK(f.up.facts.barrier == std::array<std::uint32_t, 3>{1, 0, 1});
  }
  SECTION("after a restart, those that leave alone: others enter again") {
    f.up = {};
    barriers.renewed(6, turn);
    CHECK(f.up.facts.epoch == 6);
    CHECK(f.up.facts.barrier == std::array<std::uint32_t, 3>{0, 0, 1});
    CHECK_FALSE(f.own.at(2).entered[0]);
  }
  SECTION("but not who is out of it") {
    HostBarriers::opened(BarrierKind::all, turn);
    f.up = {};
    barriers.lost(5, turn);
    CHECK(f.up.facts.barrier == std::array<std::uint32_t, 3>{0, 0, 1});
  }
}

TEST_CASE("pipes that hold copies are read whatever waits, and the copies dropped", "[host]") {
  Fixture f;
  for (std::uint32_t process = 2; process < 4; ++process) f.run(process);
  HostOutput output;
  HostTurn turn = f.turn();
  HostOutput::on(wrote(2, Stream::out, "mine\n"), turn);
  OutputDrained drained;
  drained.process = 2;
  drained.copied = {true, true};
  output.on(drained, turn);
  HostOutput::on(wrote(2, Stream::out, "copy\n"), turn);
  CHECK(text_of(f.up.messages) == "mine\n");
  output.hold(true, f.own, f.out);
  REQUIRE(f.out.size() == 1);  // 4 has not been started
  CHECK(get<PauseOutput>(f.out[0]).process == 3);
  output.hold(true, f.own, f.out);
  CHECK(f.out.size() == 1);
  output.hold(false, f.own, f.out);
  CHECK(f.out.size() == 2);
}

TEST_CASE("the last words are those on stderr, by pipe or connection", "[host]") {
  OutputCapture capture;
  wire::JobSpec job;
  std::vector<wire::Message> up;
  const OutputCapture::Way way{job, 2, up};
  capture.read(wrote(2, Stream::out, "a\n"), kNow, way);
  capture.read(wrote(2, Stream::err, "b\n"), kNow, way);
  capture.printed(Printed{2, Stream::err, "c\n", false}, kNow, way);
  CHECK(capture.last_words() == "b\nc\n");
  CHECK(text_of(up) == "a\nb\nc\n");
}

TEST_CASE("processes that stay in a resized job keep their names", "[host]") {
  Fixture f;
  f.own.at(3).register_with(ClientKind::charm, ProgramKind::charm);
  f.own.at(3).tuple.port = 33;
  f.own.phase().regrouping = true;
  CHECK(f.own.reshape({7, 10, 3}, 20) == 1);
  CHECK_FALSE(f.own.phase().regrouping);
  CHECK(f.own.at(10).tuple.port == 33);
  CHECK(f.own.name_of(10) == 3);
  CHECK(f.own.name_of(11) == 5);  // 2 and 4 are names of others, for ever
  std::uint32_t process = 6;
  CHECK(f.own.translate(process));
  CHECK(process == 12);
  process = 2;
  CHECK_FALSE(f.own.translate(process));
}

TEST_CASE("an SMP client that says nothing once it has its table is not SMP", "[host]") {
  wire::JobSpec job;
  job.timeout = 5s;
  std::vector<wire::Message> up;
  SmpCheck check;
  check.table_comes(job, kNow);
  CHECK(check.next_deadline() == kNever);  // one PE in each process hangs nobody
  job.pes_per_process = 2;
  check.table_comes(job, kNow);
  CHECK(check.next_deadline() == kNow + 5s);
  SECTION("in time") {
    check.tick(job, 2, kNow + 5s, up);
    REQUIRE(up.size() == 1);
    CHECK(get<wire::AbortUp>(up[0]).text.starts_with("no sign of life within 5 s"));
    CHECK(check.next_deadline() == kNever);
  }
  SECTION("unless it says something") {
    check.heard();
    check.tick(job, 2, kNow + 5s, up);
    CHECK(up.empty());
  }
  SECTION("or says so") {
    SmpCheck::look(job, 3, "Charm++> Running in SMP mode\n", up);
    CHECK(up.empty());
    SmpCheck::look(job, 3, "Charm++> Running in non-SMP mode\n", up);
    REQUIRE(up.size() == 1);
    CHECK(get<wire::AbortUp>(up[0]).process == 3);
  }
}

}  // namespace charmtree::host_parts_test
