// SPDX-License-Identifier: Apache-2.0
// What a host does when processes of plain and client-lib programs are started again (++on-failure restart).
#include <catch2/catch.hpp>

#include "tests/unit/three_processes.hpp"

namespace charmtree::host_restarts_test {

using namespace charmtree::proto;
namespace native = wire::native;

namespace {

constexpr Instant kNow = test::ThreeProcesses::kNow;

class Fixture : public test::ThreeProcesses {
public:
  Fixture() : ThreeProcesses({.loss = {wire::Recovery::in_place}}) {}
  /// Killed, and its connection is closed.
  void dies(std::uint32_t process) {
    on(ProcessExited{process, 0, 9});
    on(ClientClosed{ClientKind::native, process});
  }
  void restart(std::uint32_t process, std::uint32_t restarts = 1) {
    processes->restart({process, 0, restarts}, kNow, out, up);
  }
  void renew(std::uint32_t epoch, std::uint32_t process) {
    processes->renewed({epoch, {{3, process, 1, {{0, "new"}}}}}, kNow, out, up);
  }
  /// What a client heard since forget().
  std::vector<native::FromLauncher> heard(ClientId client) const {
    wire::FrameDecoder decoder{wire::kMaxLinkFrame};
    decoder.append(test::sent_to(client, out));
    std::vector<native::FromLauncher> messages;
    for (auto frame = decoder.next(); frame && frame->has_value(); frame = decoder.next())
      messages.push_back(native::decode_from_launcher(**frame).value());
    return messages;
  }
  template <class Message>
  const Message* heard_one(ClientId client) {
    last = heard(client);
    for (const native::FromLauncher& message : last) {
      if (const auto* wanted = get_if<Message>(&message)) return wanted;
    }
    return nullptr;
  }

  std::vector<native::FromLauncher> last;
};

}  // namespace

TEST_CASE("a client that is lost is started again, registers, and gets the table", "[restarts]") {
  Fixture f;
  f.all_register();
  f.dies(3);
  REQUIRE(f.up.facts.exits.size() == 1);
  CHECK((f.up.facts.exits[0].restartable && f.up.facts.exits[0].registered));
  f.forget();
  f.restart(3);
  REQUIRE(test::only<Spawn>(f.out).size() == 1);
  CHECK(test::only<Spawn>(f.out)[0].restarts == 1);
  CHECK(test::only<Spawn>(f.out)[0].more_arguments.empty());
  f.on(Spawned{3});
  f.forget();
  f.joins(13, 3);
  REQUIRE(f.heard_one<native::Welcome>(13) != nullptr);
  CHECK(f.heard_one<native::Welcome>(13)->restarts == 1);
  const auto back = test::only<wire::Rejoined>(f.up.messages);
  REQUIRE(back.size() == 1);
  CHECK((back[0].process == 3 && back[0].tuple == "tuple" && back[0].address == 0x0A000001));
  CHECK(f.up.facts.registered == 0);

  // It hears of others only with its table, which has them.
  f.forget();
  f.renew(1, 3);
  CHECK(f.heard(13).empty());
  REQUIRE(f.heard_one<native::Renewed>(2) != nullptr);
  CHECK(f.heard_one<native::Renewed>(2)->epoch == 1);
  CHECK(f.heard_one<native::Renewed>(2)->blocks.at(0).tuples.at(0).data == "new");
  const wire::Blob table = wire::encode({1, 1, {{3, 0, 1, std::vector<wire::Tuple>(6)}}});
  f.processes->tell_servers<&ClientServer::readmit>(wire::Readmit{3, 9, table}, kNow, f.out, f.up);
  REQUIRE(f.heard(13).size() == 2);
  CHECK(get<native::Missed>(f.heard(13)[0]).barriers == 9);
  CHECK(holds_alternative<native::Table>(f.heard(13)[1]));
  CHECK(test::only<ClientSend>(f.out).back().shared.coded == table);
  f.forget();
  f.renew(2, 5);
  CHECK(f.heard_one<native::Renewed>(13) != nullptr);
}

TEST_CASE("entries of a barrier count for one epoch, and those that leave are told anew", "[restarts]") {
  Fixture f;
  f.all_register();
  f.says(2, native::BarrierEnter{0});
  f.says(3, native::Finalize{0});
  CHECK((f.entered() == 1 && f.entered(BarrierKind::leave) == 1));
  f.forget();
  f.renew(1, 0);
  CHECK(f.up.facts.epoch == 1);
  CHECK((f.entered() == 0 && f.entered(BarrierKind::leave) == 1));
  CHECK(f.heard(3).empty());
  f.says(4, native::BarrierEnter{0});  // before it had heard
  CHECK(f.entered() == 0);
  f.says(2, native::BarrierEnter{1});
  f.says(4, native::BarrierEnter{1});
  CHECK(f.entered() == 2);
  f.forget();
  f.processes->release(BarrierKind::all, kNow, f.out, f.up);
  CHECK(f.heard_one<native::BarrierRelease>(2) != nullptr);
  CHECK(f.heard_one<native::BarrierRelease>(4) != nullptr);
  f.says(2, native::BarrierEnter{2});  // of an epoch that is yet to come
  CHECK(test::only<ClientClose>(f.out).size() == 1);
}

TEST_CASE("a process that lost only its connection is killed before it is started again", "[restarts]") {
  Fixture f;
  f.all_register();
  f.on(ClientClosed{ClientKind::native, 4});
  f.restart(4);
  CHECK(test::only<Spawn>(f.out).empty());
  REQUIRE(test::only<Signal>(f.out).size() == 1);
  CHECK(test::only<Signal>(f.out)[0].signal == 9);
  f.on(ProcessExited{4, 0, 9});
  CHECK(test::only<Spawn>(f.out).size() == 1);
}

TEST_CASE("whoever holds the connection of a lost process is not its successor", "[restarts]") {
  Fixture f;
  f.all_register();
  f.on(ProcessExited{3, 0, 9});
  f.processes->tick(kNow + HostEnds::kLastWords, f.out, f.up);
  REQUIRE(f.up.facts.exits.size() == 1);
  f.forget();
  f.restart(3);
  REQUIRE(test::only<ClientClose>(f.out).size() == 1);
  CHECK(test::only<ClientClose>(f.out)[0].client == 3);
  f.on(Spawned{3});
  f.says(3, native::BarrierEnter{0});
  CHECK(f.entered() == 0);
  f.joins(13, 3);
  CHECK(test::only<wire::Rejoined>(f.up.messages).size() == 1);
  CHECK(test::only<wire::Restart>(f.up.messages).empty());
}

TEST_CASE("a process that fails before it registers is a new one like the first", "[restarts]") {
  Fixture f;
  f.joins(2, 2);
  f.on(ProcessExited{3, 7});
  REQUIRE(f.up.facts.exits.size() == 1);
  CHECK((f.up.facts.exits[0].restartable && !f.up.facts.exits[0].registered));
  f.restart(3);
  f.on(Spawned{3});
  f.joins(3, 3);
  f.joins(4, 4);
  CHECK(test::only<wire::Rejoined>(f.up.messages).empty());
  CHECK(f.up.facts.registered == 3);
  CHECK(f.up.facts.blocks.size() == 1);
}

TEST_CASE("a client that registered and is lost before the table comes back behind it", "[restarts]") {
  Fixture f;
  f.joins(2, 2);
  f.dies(2);
  REQUIRE(f.up.facts.exits.size() == 1);
  CHECK((f.up.facts.exits[0].restartable && f.up.facts.exits[0].registered));
  f.restart(2);
  f.on(Spawned{2});
  f.joins(12, 2);
  CHECK(test::only<wire::Rejoined>(f.up.messages).size() == 1);
  f.joins(3, 3);
  f.joins(4, 4);
  CHECK(f.up.facts.registered == 3);
  REQUIRE(f.up.facts.blocks.size() == 1);
  CHECK(f.up.facts.blocks[0].tuples.at(0).data == "tuple");
  f.forget();
  f.processes->table(wire::encode(wire::NodeTable{0, 1, {{3, 0, 1, std::vector<wire::Tuple>(6)}}}), kNow,
                     f.out, f.up);
  CHECK(f.heard(12).empty());  // it waits for its own
  CHECK(f.heard(3).size() == 1);
}

TEST_CASE("the input of a process that is about to be replaced is its successor's", "[restarts][input]") {
  Fixture f;
  f.on(ClientClosed{ClientKind::native, 3});
  f.restart(3);
  f.processes->write_input(3, "one ", false, f.out);
  f.processes->write_input(3, "two", true, f.out);
  CHECK(test::only<WriteInput>(f.out).empty());
  f.forget();
  f.on(ProcessExited{3, 0, 9});
  const auto written = test::only<WriteInput>(f.out);
  REQUIRE(written.size() == 1);
  CHECK((written[0].bytes == "one two" && written[0].end));
  CHECK(holds_alternative<Spawn>(f.out.front()));
}

TEST_CASE("what cannot be executed is not tried again", "[restarts]") {
  Fixture f;
  f.on(ProcessExited{3, 7});
  f.restart(3);
  f.forget();
  f.on(SpawnFailed{3, {Errc::no_program, Phase::spawn, "no such file"}});
  REQUIRE(f.up.facts.exits.size() == 1);
  CHECK_FALSE(f.up.facts.exits[0].restartable);
}

TEST_CASE("a plain process that was started again may end well, or fail again", "[restarts]") {
  Fixture f;
  f.on(ProcessExited{3, 7});
  f.restart(3);
  f.on(Spawned{3});
  f.forget();
  f.on(ProcessExited{3, 8});
  REQUIRE(f.up.facts.exits.size() == 1);
  CHECK((f.up.facts.exits[0].code == 8 && f.up.facts.exits[0].restartable));
  f.restart(3, 2);
  f.on(SpawnFailed{3, {Errc::spawn_failed, Phase::spawn, "no memory"}});
  REQUIRE(f.up.facts.exits.size() == 2);
  CHECK(f.up.facts.exits[1].restartable);
  CHECK(f.up.facts.hosts_failed.empty());
  f.restart(3, 3);
  f.on(Spawned{3});
  f.on(ProcessExited{3, 0});
  CHECK(f.up.facts.exited_ok == 1);
}

TEST_CASE("a process that is moved here is one of the host's, and speaks for itself", "[restarts][moves]") {
  Fixture f;
  f.all_register();
  f.processes->join({3, 0, 1}, false);
  f.processes->join({3, 5, 1}, false);
  CHECK(f.processes->contains(0));
  CHECK_FALSE(f.processes->contains(1));
  CHECK(f.processes->local().among({{0, 5}}) == std::vector<std::uint32_t>{0, 2, 3, 4, 5});
  f.processes->restart({0, 0, 1, true, true}, kNow, f.out, f.up);
  REQUIRE(test::only<Spawn>(f.out).size() == 1);
  CHECK(test::only<Spawn>(f.out)[0].process == 0);
  REQUIRE(test::only<WriteInput>(f.out).size() == 1);
  CHECK(test::only<WriteInput>(f.out)[0].end);
  f.on(Spawned{0});
  f.joins(20, 0);
  const native::Welcome* welcome = f.heard_one<native::Welcome>(20);
  REQUIRE(welcome != nullptr);
  CHECK((welcome->local_rank == 3 && welcome->local_size == 5 && welcome->restarts == 1));
  REQUIRE(test::only<wire::Rejoined>(f.up.messages).size() == 1);
  CHECK(test::only<wire::Rejoined>(f.up.messages)[0].process == 0);
  CHECK(f.up.facts.registered == 0);
  f.forget();
  const wire::NodeTable table{1, 1, {{3, 0, 1, std::vector<wire::Tuple>(6)}}};
  f.processes->tell_servers<&ClientServer::readmit>(wire::Readmit{0, 2, wire::encode(table)}, kNow, f.out,
                                                    f.up);
  CHECK(f.heard(20).size() == 2);
  f.on(ProcessExited{0, 0, 9});
  f.on(ClientClosed{ClientKind::native, 20});
  REQUIRE(f.up.facts.exits.size() == 1);
  CHECK((f.up.facts.exits[0].process == 0 && f.up.facts.exits[0].restartable));
}

}  // namespace charmtree::host_restarts_test
