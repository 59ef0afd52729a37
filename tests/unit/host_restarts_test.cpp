// SPDX-License-Identifier: Apache-2.0
// What a host does when processes of plain and client-lib programs are started again (++on-failure restart).
#include <catch2/catch.hpp>

#include "tests/unit/what_happened.hpp"
#include "tree/proto/host_processes.hpp"
#include "tree/wire/native_message.hpp"

using namespace charmtree;
using namespace charmtree::proto;
namespace native = wire::native;

namespace {

constexpr Instant kNow{1s};

/// Processes 2, 3 and 4 of six.
class Fixture {
public:
  Fixture() {
    auto job = std::make_shared<wire::JobSpec>();
    job->processes = 6;
    job->restarts_in_place = true;
    Host host;
    host.first_process = 2;
    host.processes = 3;
    processes.emplace(job, host);
    on(Prepared{0x0A000001});
    processes->spawn(out);
    for (std::uint32_t process = 2; process < 5; ++process) on(Spawned{process});
  }
  /// Native ones, by connections of their numbers; all have their table.
  void all_register() {
    for (std::uint32_t process = 2; process < 5; ++process) joins(process, process);
    wire::NodeTable table{0, 1, {{0, 0, 1, {{}, {}}}, up.facts.blocks.at(0), {9, 5, 1, {{}}}}};
    processes->table(wire::encode(table), kNow, out, up);
    forget();
  }
  void joins(ClientId client, std::uint32_t process) {
    on(ClientOpened{ClientKind::native, client});
    says(client, native::Hello{native::kVersion, process, 1, "test"});
    says(client, native::Put{"tuple"});
  }
  template <class E>
  void on(const E& event) {
    processes->on(event, kNow, out, up);
  }
  void says(ClientId client, const native::FromClient& message) {
    on(ClientBytes{ClientKind::native, client, native::to_frame(message)});
  }
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
  void forget() {
    out.clear();
    up = {};
  }
  std::uint32_t entered(BarrierKind kind = BarrierKind::all) const {
    return up.facts.barrier[static_cast<std::size_t>(kind)];
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
      if (const auto* wanted = std::get_if<Message>(&message)) return wanted;
    }
    return nullptr;
  }

  std::optional<HostProcesses> processes;
  Actions out;
  Upward up;
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
  const wire::NodeTable table{1, 1, {{3, 0, 1, std::vector<wire::Tuple>(6)}}};
  f.processes->readmit({3, 9, wire::encode(table)}, kNow, f.out, f.up);
  REQUIRE(f.heard(13).size() == 2);
  CHECK(std::get<native::Missed>(f.heard(13)[0]).barriers == 9);
  CHECK(std::get<native::Table>(f.heard(13)[1]).table == table);
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
  f.processes->tick(kNow + HostProcesses::kLastWords, f.out, f.up);
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
