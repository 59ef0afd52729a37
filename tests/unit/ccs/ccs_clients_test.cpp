// SPDX-License-Identifier: Apache-2.0
#include "ccs/clients.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/ccs_desk.hpp"

namespace charmtree::ccs_clients_test {

using namespace charmtree::proto;
using charm_capture::hex;
using namespace charmtree::ccs_desk;

TEST_CASE("a client that has said all gets its reply if its request is whole") {
  Desk desk;
  const ClientClosed all_said{ClientKind::ccs, 7, true};
  const std::string bytes = request("00000000", "x");
  SECTION("it is under way") {
    desk.asks(7, bytes);
    desk.router.on(all_said, at(0s), desk.out);
    CHECK(desk.out.empty());
    desk.answers(0, 1, "reply");
    CHECK(desk.got(7) == hex("00000005") + "reply");
    CHECK(desk.closed(7));
    CHECK(desk.router.next_deadline() == kNever);
  }
  SECTION("it waits for the job to start") {
    Desk later(false);
    later.asks(7, bytes);
    later.router.on(all_said, at(0s), later.out);
    later.start();
    REQUIRE(later.down.size() == 1);
    later.answers(0, 1, "reply");
    CHECK(later.got(7) == hex("00000005") + "reply");
  }
  SECTION("it is cut short") {
    desk.asks(7, bytes.substr(1));
    desk.router.on(all_said, at(0s), desk.out);
    CHECK(desk.got(7).empty());
    CHECK(desk.closed(7));
  }
  SECTION("only for so long") {
    desk.asks(7, bytes);
    desk.router.on(all_said, at(5s), desk.out);
    REQUIRE(desk.router.next_deadline() == at(65s));
    desk.router.tick(at(65s), desk.out, desk.down);
    CHECK(desk.got(7).empty());
    CHECK(desk.closed(7));
    desk.answers(0, 1, "late");
    CHECK(desk.got(7).empty());
  }
  SECTION("unless it goes") {
    desk.asks(7, bytes);
    desk.router.on(all_said, at(0s), desk.out);
    desk.router.on(ClientClosed{ClientKind::ccs, 7}, at(1s), desk.out);
    CHECK(desk.router.next_deadline() == kNever);
    desk.answers(0, 1, "late");
    CHECK(desk.out.empty());
  }
  SECTION("of too many the first has to go") {
    for (ClientId id = 1; id <= ccs::Clients::kMaxListening + 1; ++id) {
      CHECK_FALSE(desk.closed(1));
      desk.asks(id, bytes);
      desk.router.on(ClientClosed{ClientKind::ccs, id, true}, at(0s), desk.out);
    }
    CHECK(desk.closed(1));
    CHECK_FALSE(desk.closed(2));
  }
}

}  // namespace charmtree::ccs_clients_test
