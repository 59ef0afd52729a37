// SPDX-License-Identifier: Apache-2.0
#include "ccs/clients.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/ccs_controller.hpp"

namespace charmtree::ccs_clients_test {

using namespace charmtree::proto;
using charm_capture::hex;
using namespace charmtree::ccs_controller;

TEST_CASE("a client that has said all gets its reply if its request is whole") {
  Controller controller;
  const ClientClosed all_said{ClientKind::ccs, 7, true};
  const std::string bytes = request("00000000", "x");
  SECTION("it is under way") {
    controller.asks(7, bytes);
    controller.router.on(all_said, at(0s), controller.out);
    CHECK(controller.out.empty());
    controller.answers(0, 1, "reply");
    CHECK(controller.got(7) == hex("00000005") + "reply");
    CHECK(controller.closed(7));
    CHECK(controller.router.next_deadline() == kNever);
  }
  SECTION("it waits for the job to start") {
    Controller later(false);
    later.asks(7, bytes);
    later.router.on(all_said, at(0s), later.out);
    later.start();
    REQUIRE(later.down.size() == 1);
    later.answers(0, 1, "reply");
    CHECK(later.got(7) == hex("00000005") + "reply");
  }
  SECTION("it is cut short") {
    controller.asks(7, bytes.substr(1));
    controller.router.on(all_said, at(0s), controller.out);
    CHECK(controller.got(7).empty());
    CHECK(controller.closed(7));
  }
  SECTION("only for so long") {
    controller.asks(7, bytes);
    controller.router.on(all_said, at(5s), controller.out);
    REQUIRE(controller.router.next_deadline() == at(65s));
    controller.router.tick(at(65s), controller.out, controller.down);
    CHECK(controller.got(7).empty());
    CHECK(controller.closed(7));
    controller.answers(0, 1, "late");
    CHECK(controller.got(7).empty());
  }
  SECTION("unless it goes") {
    controller.asks(7, bytes);
    controller.router.on(all_said, at(0s), controller.out);
    controller.router.on(ClientClosed{ClientKind::ccs, 7}, at(1s), controller.out);
    CHECK(controller.router.next_deadline() == kNever);
    controller.answers(0, 1, "late");
    CHECK(controller.out.empty());
  }
  SECTION("of too many the first has to go") {
    for (ClientId id = 1; id <= ccs::Clients::kMaxListening + 1; ++id) {
      CHECK_FALSE(controller.closed(1));
      controller.asks(id, bytes);
      controller.router.on(ClientClosed{ClientKind::ccs, id, true}, at(0s), controller.out);
    }
    CHECK(controller.closed(1));
    CHECK_FALSE(controller.closed(2));
  }
}

}  // namespace charmtree::ccs_clients_test
