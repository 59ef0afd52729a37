// SPDX-License-Identifier: Apache-2.0
#include "tree/job/resizing.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/charm_capture.hpp"
#include "tests/unit/what_happened.hpp"
#include "tree/job/host_processes.hpp"
#include "tree/wire/charm_message.hpp"

namespace charmtree::resizing_test {

using namespace charmtree::proto;
using namespace charm_capture;
using wire::Share;

namespace {

constexpr Instant kNow{1s};
const std::string kLetGo = header("00000000", "realloc_ack");

std::vector<Host> hosts_with(const std::vector<std::uint32_t>& counts) {
  std::vector<Host> hosts;
  std::uint32_t next = 0;
  for (const std::uint32_t count : counts) {
    Host host;
    host.index = static_cast<std::uint32_t>(hosts.size());
    host.first_process = next;
    host.processes = count;
    next += count;
    hosts.push_back(std::move(host));
  }
  return hosts;
}

Resizing resizing(std::uint32_t old, std::vector<std::uint32_t> wanted,
                  const std::vector<std::uint32_t>& stay) {
  Resizing all{old, std::move(wanted), kNow + 60s};
  for (std::uint32_t process = 0; process < old; ++process) {
    CHECK_FALSE(all.complete());
    CHECK(all.missing() == old - process);
    CHECK(all.deadline() == kNow + 60s);
    if (std::find(stay.begin(), stay.end(), process) != stay.end())
      all.stayed(process);
    else
      all.left(process);
  }
  CHECK(all.complete());
  CHECK(all.deadline() == kNever);
  return all;
}

/// A host with processes 1 and 2 of 4, which run. Client 100 + process.
class Fixture {
public:
  Fixture() {
    spec->processes = 4;
    spec->resizes = true;
    Host host;
    host.index = 3;
    host.first_process = 1;
    host.processes = 2;
    processes.emplace(spec, host);
    on(Prepared{0x7f000001});
    processes->spawn(out);
    for (const std::uint32_t name : {1U, 2U}) {
      on(Spawned{name});
      connect(name, 100 + name);
    }
    forget();
  }
  template <class E>
  void on(const E& event) {
    processes->on(event, kNow, out, up);
  }
  void connect(std::uint32_t name, ClientId client) {
    on(ClientOpened{ClientKind::charm, client});
    const std::string payload = hex("0000000" + std::to_string(name) +
                                    " 00000002 00000002 00000001 00000000 00000000 00000000 0000a000"
                                    " 00000000 c0000202");
    on(ClientBytes{ClientKind::charm, client, header("00000028", "initnode") + payload});
  }
  void forget() {
    out.clear();
    up = {};
  }
  std::string sent_to(ClientId client) const { return test::sent_to(client, out); }
  template <class M>
  std::vector<M> told() const {
    return test::only<M>(up.messages);
  }
  std::vector<std::uint32_t> spawned() const {
    std::vector<std::uint32_t> names;
    for (const Spawn& spawn : test::only<Spawn>(out)) names.push_back(spawn.process);
    return names;
  }

  std::shared_ptr<wire::JobSpec> spec = std::make_shared<wire::JobSpec>();
  std::optional<HostProcesses> processes;
  Actions out;
  Upward up;
};

}  // namespace

TEST_CASE("a job that shrinks keeps its processes where they are", "[resizing]") {
  const auto all = resizing(4, {2}, {0, 1});
  CHECK(all.shares(hosts_with({1, 2, 1})).value() == std::vector<Share>{{0, 0, 1}, {1, 1, 1}});
}

TEST_CASE("a job that expands fills hosts up to what is wanted, with new hosts behind", "[resizing]") {
  const auto all = resizing(2, {2, 2, 1}, {0, 1});
  CHECK(all.shares(hosts_with({1, 1, 0})).value() == std::vector<Share>{{0, 0, 2}, {1, 2, 2}, {2, 4, 1}});
}

TEST_CASE("who stays on a host that is no longer listed counts", "[resizing]") {
  const auto all = resizing(2, {0, 1, 2}, {0, 1});
  CHECK(all.shares(hosts_with({2, 0, 0})).value() == std::vector<Share>{{0, 0, 2}, {1, 2, 1}});
}

TEST_CASE("without process 0, or with too many or too few, a job does not go on", "[resizing]") {
  CHECK_FALSE(resizing(2, {1}, {1}).shares(hosts_with({2})));
  CHECK_FALSE(resizing(3, {2}, {0}).shares(hosts_with({3})));
  CHECK_FALSE(resizing(2, {4}, {0}).shares(hosts_with({2})));
  CHECK_FALSE(resizing(2, {1}, {0, 1}).shares(hosts_with({2})));
}

TEST_CASE("clients are let go; some stay under their name, new ones get other names", "[resizing]") {
  Fixture f;
  f.on(ClientBytes{ClientKind::charm, 101, wire::make_charm_message("realloc", hex("00000008"))});
  REQUIRE(f.told<wire::PesWanted>().size() == 1);
  CHECK(f.told<wire::PesWanted>()[0].pes == 8);
  f.processes->regroup(kNow, f.out, f.up);
  CHECK(f.sent_to(101) == kLetGo);
  CHECK(f.sent_to(102) == kLetGo);
  f.forget();

  f.on(ProcessExited{1, 1, 0});  // as a stock client leaves
  f.connect(2, 202);
  REQUIRE(f.told<wire::Left>().size() == 1);
  CHECK(f.told<wire::Left>()[0].process == 1);
  REQUIRE(f.told<wire::Rejoined>().size() == 1);
  CHECK(f.told<wire::Rejoined>()[0].process == 2);
  CHECK(f.up.facts.exits.empty());
  CHECK(f.up.facts.registered == 0);
  f.forget();

  f.spec->processes = 6;
  f.processes->reshape({3, 3, 3}, kNow, f.up);
  CHECK(f.up.facts.registered == 1);
  CHECK(f.processes->waits_to_spawn());
  f.processes->spawn(f.out);
  CHECK(f.spawned() == std::vector<std::uint32_t>{3, 4});
  for (std::uint32_t name : {3U, 4U}) {
    std::uint32_t number = name;
    REQUIRE(f.processes->translate(number));
    CHECK(number == name + 1);
    f.on(Spawned{number});
    f.connect(name, 300 + name);
  }
  std::uint32_t gone = 1;
  CHECK_FALSE(f.processes->translate(gone));
  CHECK(f.up.facts.hosts_up == std::vector<std::uint32_t>{3});
  CHECK(f.up.facts.registered == 3);
  REQUIRE(f.up.facts.blocks.size() == 1);
  CHECK(f.up.facts.blocks[0].first_process == 3);
  CHECK(f.up.facts.blocks[0].tuples.size() == 3);
  f.forget();

  const wire::NodeTable table{
      1, 1, {{0, 0, 1, {{1, {}}, {2, {}}, {3, {}}}}, {3, 3, 2, {{4, {}}, {5, {}}, {6, {}}}}}};
  f.processes->table(wire::encode(table), kNow, f.out, f.up);
  for (const ClientId client : {202U, 303U, 304U}) {
    const std::uint32_t number = client == 202 ? 3 : static_cast<std::uint32_t>(client) - 299;
    CHECK(f.sent_to(client).substr(0, 24) == wire::charm_table_head(6, number));
  }
}

TEST_CASE("a host where all stay is up at once; one where all have left has nothing to say", "[resizing]") {
  Fixture f;
  f.processes->regroup(kNow, f.out, f.up);
  SECTION("all stay") {
    f.connect(2, 202);
    f.connect(1, 201);
    f.forget();
    f.processes->reshape({3, 0, 2}, kNow, f.up);
    CHECK(f.up.facts.hosts_up.size() == 1);
    CHECK(f.up.facts.blocks.size() == 1);
  }
  SECTION("all leave, and new ones come later") {
    f.on(ProcessExited{1, 0, 0});
    f.on(ProcessExited{2, 0, 0});
    f.forget();
    f.processes->reshape({3, 0, 0}, kNow, f.up);
    CHECK(f.up.facts.empty());
    CHECK_FALSE(f.processes->waits_to_spawn());
    f.processes->regroup(kNow, f.out, f.up);
    f.processes->reshape({3, 2, 1}, kNow, f.up);
    f.processes->spawn(f.out);
    CHECK(f.spawned() == std::vector<std::uint32_t>{3});
  }
}

TEST_CASE("process 0 ends for all, who then are let go", "[resizing]") {
  Fixture f;
  f.on(ClientBytes{ClientKind::charm, 101, wire::make_charm_message("ending")});
  CHECK(f.up.facts.ended == 1);
  f.forget();
  f.processes->finish(0, kNow, f.out, f.up);
  CHECK(f.sent_to(101) == kLetGo);
  CHECK(f.sent_to(102).ends_with(kLetGo));
}

}  // namespace charmtree::resizing_test
