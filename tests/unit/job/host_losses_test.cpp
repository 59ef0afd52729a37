// SPDX-License-Identifier: Apache-2.0
// What a host does when processes of its job are lost and the others go on.
#include <catch2/catch.hpp>

#include "tests/unit/three_processes.hpp"

namespace charmtree::host_losses_test {

using namespace charmtree::proto;
namespace native = wire::native;

namespace {

constexpr Instant kNow = test::ThreeProcesses::kNow;

/// Native ones, which have their table.
class Fixture : public test::ThreeProcesses {
public:
  Fixture() : ThreeProcesses({.loss = {wire::Recovery::go_on}}) { all_register(); }
  void lose(std::uint32_t epoch, std::uint32_t process) {
    processes->lost(wire::Lost{epoch, {{process, process}}}, kNow, out, up);
  }
};

}  // namespace

TEST_CASE("with a loss a host tells anew who is in a barrier that has not opened",
          "[host_processes][losses]") {
  Fixture fixture;
  fixture.says(2, native::BarrierEnter{});
  fixture.says(3, native::BarrierEnter{});
  CHECK(fixture.entered() == 2);
  fixture.forget();
  fixture.lose(1, 0);
  CHECK(fixture.up.facts.epoch == 1);
  CHECK(fixture.entered() == 2);
  fixture.forget();
  fixture.says(4, native::BarrierEnter{});
  CHECK(fixture.up.facts.epoch == 1);
  fixture.processes->release(BarrierKind::all, kNow, fixture.out, fixture.up);
  fixture.forget();
  fixture.says(4, native::Finalize{0});
  fixture.forget();
  fixture.lose(2, 1);
  CHECK(fixture.entered() == 0);
  CHECK(fixture.entered(BarrierKind::leave) == 1);
}

TEST_CASE("one that has finalized and exited is in the last barrier still", "[host_processes][losses]") {
  Fixture fixture;
  fixture.says(2, native::Finalize{0, 5});
  CHECK(fixture.up.facts.peers == wire::PeersUsed{});  // it may yet fail, and be started again
  fixture.on(ClientClosed{ClientKind::native, 2});
  fixture.on(ProcessExited{2, 0, 0});
  CHECK(fixture.up.facts.exited_ok == 1);
  CHECK(fixture.up.facts.peers == wire::PeersUsed{1, 5, 5, 5});
  CHECK(fixture.up.facts.who_ended == std::vector<wire::ProcessSet::Range>{{2, 2}});
  fixture.forget();
  fixture.lose(1, 0);
  CHECK(fixture.entered(BarrierKind::leave) == 1);
}

TEST_CASE("one that is lost for its connection alone is killed, and in no barrier",
          "[host_processes][losses]") {
  Fixture fixture;
  fixture.says(3, native::BarrierEnter{});
  fixture.on(ClientClosed{ClientKind::native, 3});
  fixture.processes->tick(kNow + HostEnds::kExplain, fixture.out, fixture.up);
  REQUIRE(fixture.up.facts.exits.size() == 1);
  fixture.forget();
  fixture.lose(1, 3);
  CHECK(fixture.entered() == 0);
  const auto signals = test::only<Signal>(fixture.out);
  REQUIRE(signals.size() == 1);
  CHECK((signals[0].process == 3 && signals[0].signal == 9));
  CHECK(test::only<ClientSend>(fixture.out).size() == 2);  // the others are told
}

TEST_CASE("what is left of a process that has exited enters no barrier for it", "[host_processes][losses]") {
  Fixture fixture;
  fixture.on(ProcessExited{3, 0, 11});  // something holds its connection open
  fixture.processes->tick(kNow + HostEnds::kLastWords, fixture.out, fixture.up);
  REQUIRE(fixture.up.facts.exits.size() == 1);
  fixture.forget();
  fixture.says(3, native::BarrierEnter{});
  CHECK(fixture.entered() == 0);
}

}  // namespace charmtree::host_losses_test
