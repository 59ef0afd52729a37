// SPDX-License-Identifier: Apache-2.0
// What the processes of a host see of a crash, byte by byte, and what is made of what they answer.
#include <catch2/catch.hpp>

#include "tests/unit/charm_capture.hpp"
#include "tests/unit/what_happened.hpp"
#include "tree/job/host_processes.hpp"
#include "tree/wire/charm_message.hpp"

namespace charmtree::charm_restart_test {

using namespace charmtree::proto;
using namespace charm_capture;

namespace {

constexpr Instant kNow{1s};

std::string initnode(std::uint32_t number, std::string_view port) {
  return header("00000028", "initnode") + hex("0000000" + std::to_string(number) +
                                              " 00000002 00000002 00000001 00000000 00000000 00000000 0000" +
                                              std::string{port} + " 00000000 c0000202");
}

/// Process 2, on another host with the address 10.0.0.2, has port aaaa.
wire::Blob table(std::uint32_t epoch, std::uint16_t port0, std::uint16_t port1,
                 std::uint16_t port2 = 0xaaaa) {
  return wire::encode(wire::NodeTable{
      epoch, 1, {{0, 0, 0x7f000001, {{port0, {}}, {port1, {}}}}, {1, 2, 0x0a000002, {{port2, {}}}}}});
}
std::string table_bytes(std::uint32_t own, std::string_view port0, std::string_view port1,
                        std::string_view port2 = "aaaa") {
  return header("00000050", "initnodetab") + hex("00000003 0000000" + std::to_string(own)) +
         hex("00000000 00000002 00000001 0000" + std::string{port0} + " 00000000 7f000001") +
         hex("00000001 00000002 00000001 0000" + std::string{port1} + " 00000000 7f000001") +
         hex("00000002 00000001 00000001 0000" + std::string{port2} + " 00000000 0a000002");
}
std::string crashnode(std::uint32_t process) {
  return header("00000004", "crashnode") + hex("0000000" + std::to_string(process));
}

/// A host with processes 0 and 1 of 3, which run and have the table of epoch 0. Client 100 is process 0.
class Fixture {
public:
  Fixture() {
    auto spec = std::make_shared<wire::JobSpec>();
    spec->processes = 3;
    spec->loss.recovery = wire::Recovery::by_program;
    Host host;
    host.processes = 2;
    processes.emplace(spec, host);
    on(Prepared{0x7f000001});
    processes->spawn(out);
    for (const std::uint32_t process : {0U, 1U}) {
      on(Spawned{process});
      connect(process, 100 + process, process == 0 ? "1000" : "1111");
    }
    processes->table(table(0, 0x1000, 0x1111), kNow, out, up);
    for (const std::uint32_t process : {0U, 1U}) on(OutputDrained{process});
    forget();
  }
  template <class E>
  void on(const E& event, Instant now = kNow) {
    processes->on(event, now, out, up);
  }
  void connect(std::uint32_t process, ClientId client, std::string_view port) {
    on(ClientOpened{ClientKind::charm, client});
    on(ClientBytes{ClientKind::charm, client, initnode(process, port)});
  }
  void says(ClientId client, std::string_view type, std::string_view payload = {}) {
    on(ClientBytes{ClientKind::charm, client, wire::make_charm_message(type, payload)});
  }
  void lose(std::uint32_t process) {
    on(ProcessExited{process, 0, 9});
    on(ClientClosed{ClientKind::charm, 100 + process});
  }
  void restart(std::uint32_t process, std::uint32_t phase) {
    processes->restart({process, phase, phase - 1}, kNow, out, up);
  }
  void recover(std::uint32_t crashed, const wire::Blob& coded) {
    processes->recover({crashed, {crashed}, coded}, kNow, out, up);
  }
  void forget() {
    out.clear();
    up = {};
  }
  std::string sent_to(ClientId client) const { return test::sent_to(client, out); }
  template <class A>
  std::vector<A> all() const {
    return test::only<A>(out);
  }
  std::vector<wire::Rejoined> rejoined() const { return test::only<wire::Rejoined>(up.messages); }

  std::optional<HostProcesses> processes;
  Actions out;
  Upward up;
};

}  // namespace

TEST_CASE("survivors get the table and who was lost, byte by byte, and their acks count", "[charm_restart]") {
  Fixture f;
  f.recover(2, table(1, 0x1000, 0x1111, 0xbbbb));
  CHECK(f.sent_to(100) == table_bytes(0, "1000", "1111", "bbbb") + crashnode(2));
  CHECK(f.sent_to(101) == table_bytes(1, "1000", "1111", "bbbb") + crashnode(2));
  const auto sends = f.all<ClientSend>();
  REQUIRE(sends.size() == 4);
  CHECK(sends[0].tail == sends[1].tail);  // the tables back to back, and one copy of it
  CHECK(f.up.facts.crash_acks == 0);
  f.says(101, "crash_ack");
  f.says(100, "crash_ack");
  CHECK(f.up.facts.crash_acks == 2);
  CHECK(f.up.facts.epoch == 1);
  CHECK(f.all<ClientClose>().empty());
}

TEST_CASE("a lost process is started anew with its number, and gets its table when told", "[charm_restart]") {
  Fixture f;
  f.lose(1);
  REQUIRE(f.up.facts.exits.size() == 1);
  CHECK(f.up.facts.exits[0].restartable);
  CHECK(f.up.facts.exits[0].signal == 9);
  f.forget();
  f.restart(1, 2);
  const auto spawns = f.all<Spawn>();
  REQUIRE(spawns.size() == 1);
  CHECK(spawns[0].process == 1);
  CHECK(spawns[0].more_arguments == std::vector<std::string>{"+restartaftercrash", "2", "+restartisomalloc"});
  f.on(Spawned{1});
  CHECK(f.up.facts.hosts_up.empty());  // it has been for long
  f.connect(1, 201, "2222");
  REQUIRE(f.rejoined().size() == 1);
  CHECK(f.rejoined()[0].process == 1);
  CHECK(f.rejoined()[0].port == 0x2222);
  CHECK(f.up.facts.registered == 0);
  f.recover(1, table(1, 0x1000, 0x2222));
  CHECK(f.sent_to(100) == table_bytes(0, "1000", "2222") + crashnode(1));
  CHECK(f.sent_to(201).empty());
  f.forget();
  f.processes->admit(1, kNow, f.out, f.up);
  CHECK(f.sent_to(201) == table_bytes(1, "1000", "2222"));
  CHECK(f.sent_to(100).empty());

  SECTION("and is a survivor of the next crash") {
    f.forget();
    f.recover(2, table(2, 0x1000, 0x2222, 0xcccc));
    CHECK(f.sent_to(201) == table_bytes(1, "1000", "2222", "cccc") + crashnode(2));
  }
  SECTION("and can be lost again") {
    f.forget();
    f.on(ProcessExited{1, 0, 11});
    f.on(ClientClosed{ClientKind::charm, 201});
    REQUIRE(f.up.facts.exits.size() == 1);
    CHECK(f.up.facts.exits[0].registered);
    f.restart(1, 3);
    CHECK(f.all<Spawn>().at(0).more_arguments[1] == "3");
  }
}

TEST_CASE("a new process that dies before it registers, or cannot be started, is lost again",
          "[charm_restart]") {
  Fixture f;
  f.lose(1);
  f.restart(1, 2);
  f.forget();
  SECTION("it exits, even with 0") {
    f.on(Spawned{1});
    f.on(ProcessExited{1, 0, 0});
  }
  SECTION("it cannot be started") {
    f.on(SpawnFailed{1, {Errc::spawn_failed, Phase::spawn, "cannot create a process", "see ulimit -u"}});
    REQUIRE(f.up.facts.exits.size() == 1);
    CHECK(f.up.facts.exits[0].text.find("cannot create a process") != std::string::npos);
  }
  REQUIRE(f.up.facts.exits.size() == 1);
  CHECK(f.up.facts.exits[0].restartable);
  CHECK(f.up.facts.exits[0].registered);
  CHECK(f.up.facts.hosts_failed.empty());
  CHECK_FALSE(f.processes->failed());
}

TEST_CASE("a process that has only lost its connection is killed before another takes its place",
          "[charm_restart]") {
  Fixture f;
  f.on(ClientClosed{ClientKind::charm, 101});
  f.processes->tick(kNow + HostEnds::kExplain, f.out, f.up);
  REQUIRE(f.up.facts.exits.size() == 1);
  CHECK(f.up.facts.exits[0].lost_connection);
  f.restart(1, 2);
  CHECK(f.all<Spawn>().empty());
  REQUIRE(f.all<Signal>().size() == 1);
  CHECK(f.all<Signal>()[0].signal == 9);
  f.forget();
  f.on(ProcessExited{1, 0, 9});
  CHECK(f.all<Spawn>().size() == 1);
  CHECK(f.up.facts.exits.empty());
}

TEST_CASE("of two crashes only the ack of the last one counts", "[charm_restart]") {
  Fixture f;
  f.recover(2, table(1, 0x1000, 0x1111, 0xbbbb));
  f.says(100, "crash_ack");
  f.says(101, "crash_ack");
  f.forget();
  f.recover(2, table(2, 0x1000, 0x1111, 0xcccc));
  f.says(100, "crash_ack");
  f.recover(2, table(3, 0x1000, 0x1111, 0xdddd));
  f.forget();
  f.says(101, "crash_ack");  // of the one before
  CHECK(f.up.facts.crash_acks == 0);
  f.says(101, "crash_ack");
  CHECK(f.up.facts.crash_acks == 1);
  CHECK(f.up.facts.epoch == 3);
  f.says(100, "crash_ack");
  CHECK(f.up.facts.crash_acks == 2);
  f.says(100, "crash_ack");  // of nothing
  CHECK(f.all<ClientClose>().size() == 1);
}

TEST_CASE("a process that waits for a reply hears of crashes behind it", "[charm_restart]") {
  Fixture f;
  f.says(100, "printsyn", std::string{"text\0", 5});
  f.forget();
  f.recover(2, table(1, 0x1000, 0x1111, 0xbbbb));
  f.recover(2, table(2, 0x1000, 0x1111, 0xcccc));
  CHECK(f.sent_to(100).empty());
  f.processes->printed(0, kNow, f.out, f.up);
  const std::string told = table_bytes(0, "1000", "1111", "cccc") + crashnode(2);
  CHECK(f.sent_to(100) == header("00000001", "printdone") + '\0' + told + told);
}

TEST_CASE("who has ended, or ends, need not know", "[charm_restart]") {
  Fixture f;
  f.says(100, "ending", std::string{"0\0", 2});
  f.forget();
  f.recover(2, table(1, 0x1000, 0x1111, 0xbbbb));
  CHECK(f.sent_to(100).empty());
  CHECK(f.up.facts.crash_acks == 1);
  f.says(101, "ending", std::string{"0\0", 2});
  CHECK(f.up.facts.crash_acks == 2);
  CHECK(f.up.facts.ended == 1);
}

TEST_CASE("barriers are counted from the beginning, without the lost", "[charm_restart]") {
  Fixture f;
  f.says(100, "barrier");
  f.says(101, "barrier");
  CHECK(f.up.facts.barrier[0] == 2);
  CHECK(f.up.facts.epoch == 0);
  f.lose(1);
  f.restart(1, 2);
  f.connect(1, 201, "2222");
  f.forget();
  f.recover(1, table(1, 0x1000, 0x2222));
  CHECK(f.up.facts.barrier[0] == 1);
  CHECK(f.up.facts.epoch == 1);
  f.forget();
  f.processes->admit(1, kNow, f.out, f.up);
  f.says(201, "barrier");
  CHECK(f.up.facts.barrier[0] == 1);
  f.forget();
  f.processes->release(BarrierKind::all, kNow, f.out, f.up);
  const std::string barrier = header("00000001", "barrier") + '\0';
  CHECK(f.sent_to(100) == barrier);
  CHECK(f.sent_to(201) == barrier);
}

TEST_CASE("nobody can take the place of a process that is not to be restarted", "[charm_restart]") {
  Fixture f;
  f.lose(1);
  f.forget();
  f.connect(1, 201, "2222");
  CHECK(f.all<ClientClose>().size() == 1);
  CHECK(f.rejoined().empty());
}

}  // namespace charmtree::charm_restart_test
