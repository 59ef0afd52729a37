// SPDX-License-Identifier: Apache-2.0
#include "ccs/router.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/ccs_controller.hpp"

namespace charmtree::ccs_router_test {

using namespace charmtree::proto;
using charm_capture::hex;
using namespace charmtree::ccs_controller;

TEST_CASE("a CCS request reaches the process of its PE, byte for byte, and its answer the client") {
  Controller controller;
  controller.asks(7, request("00000005", "ping", "data"));
  REQUIRE(controller.down.size() == 1);
  CHECK(controller.down[0].first == 2);
  CHECK(controller.sent(0).last);
  CHECK(controller.sent(0).bytes == hex("c0000207 00001092 00000000 0000") + std::string{"ping"} +
                                        std::string(28, '\0') + hex("00000005") + token_bytes(1) +
                                        hex("00000004") + "data");
  controller.answers(2, 1, "hello");
  CHECK(controller.got(7) == hex("00000005") + "hello");
  CHECK(controller.closed(7));
}

TEST_CASE("a request may come in any pieces, and nothing is sent before it is complete") {
  Controller controller;
  controller.opens(7);
  const std::string bytes = request("fffffffe", "both", "xy", "00000003 00000006");
  for (const char byte : bytes) {
    CHECK(controller.down.empty());
    controller.says(7, std::string{byte});
  }
  REQUIRE(controller.down.size() == 1);
  CHECK(controller.down[0].first == 1);  // the process of the first PE
  CHECK(controller.sent(0).bytes.substr(46) ==
        hex("fffffffe") + token_bytes(1) + hex("00000002 00000003 00000006") + "xy");
  CHECK(controller.out.empty());
}

TEST_CASE("a broadcast goes once, to the process of PE 0, and any process may answer") {
  Controller controller;
  controller.asks(7, request("ffffffff", "all"));
  REQUIRE(controller.down.size() == 1);
  CHECK(controller.down[0].first == 0);
  controller.answers(3, 1, "");
  CHECK(controller.got(7) == kNothing);
  CHECK(controller.closed(7));
}

TEST_CASE("a request that cannot be right is refused with an empty reply, and told once for each cause") {
  const auto [name, bytes] = GENERATE(table<const char*, std::string>({
      {"PE out of range", request("00000008", "x")},
      {"more PEs than there are", request("fffffff7", "x")},
      {"as few as INT_MIN", request("80000000", "x")},
      {"a PE of the list out of range", request("fffffffe", "x", "", "00000000 00000008")},
      {"a negative PE in the list", request("fffffffe", "x", "", "ffffffff 00000001")},
      {"a PE twice", request("fffffffe", "x", "", "00000001 00000001")},
      {"a length of 4 GiB", hex("ffffffff 00000000")},
      {"one byte too much", hex("04000001 00000000") + std::string(32, 'a')},
      {"HTTP", std::string{"GET / HTTP/1.0\r\n\r\n"}},
  }));
  CAPTURE(name);
  Controller controller;
  controller.asks(7, request("00000001", "good"));
  controller.asks(8, bytes);
  controller.asks(9, bytes);
  CHECK(controller.got(8) == kNothing);
  CHECK(controller.closed(8));
  CHECK(controller.closed(9));
  CHECK(controller.said().size() == 1);
  CHECK(controller.down.size() == 1);
  controller.answers(0, 1, "fine");
  CHECK(controller.got(7) == hex("00000004") + "fine");
}

TEST_CASE("as many PEs as there are can be asked") {
  Controller controller;
  controller.asks(7, request("fffffff8", "x", "",
                             "00000000 00000001 00000002 00000003 00000004 00000005 00000006 00000007"));
  CHECK(controller.down.size() == 1);
}

TEST_CASE("a handler name that fills its field is cut at 31 bytes") {
  Controller controller;
  controller.asks(7, hex("00000000 00000000") + std::string(32, 'h'));
  REQUIRE(controller.down.size() == 1);
  CHECK(controller.sent(0).bytes.substr(14, 32) == std::string(31, 'h') + '\0');
}

TEST_CASE("requests before the node table wait for it") {
  Controller controller{false};
  controller.asks(7, request("00000006", "x"));
  controller.asks(8, request("00000008", "x"));
  CHECK(controller.down.empty());
  CHECK(controller.out.empty());
  controller.start();
  REQUIRE(controller.down.size() == 1);
  CHECK(controller.down[0].first == 3);
  CHECK(controller.got(8) == kNothing);
}

TEST_CASE("large requests go down, and large answers come up, in pieces") {
  Controller controller;
  const std::string data(3U << 20, 'd');
  controller.asks(7, request("00000000", "x", data));
  REQUIRE(controller.down.size() == 4);
  std::string joined;
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(controller.sent(i).last == (i == 3));
    joined += controller.sent(i).bytes;
  }
  CHECK(joined.substr(wire::kCcsForwardedHeader) == data);

  for (const char* piece : {"abc", "defg", "h"})
    controller.router.on(wire::CcsAnswer{0, token(1), true, 7, piece}, at(0s), controller.out,
                         controller.down);
  CHECK(controller.got(7) == hex("00000007") + "abcdefg");  // what is too much is dropped
  CHECK(controller.closed(7));
}

TEST_CASE("an answer that nobody waits for, or that the handler does not want to be sent, is no bytes") {
  Controller controller;
  controller.asks(7, request("00000000", "x"));
  controller.asks(8, request("00000000", "x"));
  controller.router.on(ClientClosed{ClientKind::ccs, 7}, at(0s), controller.out);
  controller.answers(0, 1, "late");
  controller.answers(0, 99, "forged");
  CHECK(controller.out.empty());
  controller.router.on(wire::CcsAnswer{0, token(2), false, 0, {}}, at(0s), controller.out, controller.down);
  CHECK(controller.got(8).empty());
  CHECK(controller.closed(8));
}

TEST_CASE("a client that sends no request in time is dropped, and the oldest of too many") {
  Controller controller;
  controller.opens(1);
  controller.opens(2, kPeer, 30s);
  controller.router.tick(at(ccs::Clients::kRequestTime), controller.out, controller.down);
  CHECK(controller.closed(1));
  CHECK_FALSE(controller.closed(2));
  for (ClientId id = 3; id < 3 + ccs::Clients::kMaxWaiting; ++id) controller.opens(id, kPeer, 60s);
  CHECK(controller.closed(2));
  CHECK_FALSE(controller.closed(3));
}

TEST_CASE("a request with a wrong PE is refused when all of it has come") {
  Controller controller;
  const std::string bytes = request("00000008", "x", "data");
  controller.opens(7);
  controller.says(7, bytes.substr(0, 43));
  CHECK(controller.got(7).empty());
  controller.says(7, bytes.substr(43));
  CHECK((controller.got(7) == kNothing && controller.closed(7)));
}

TEST_CASE("clients cannot fill the memory with requests that they do not finish") {
  Controller controller;
  const std::string part = hex("04000000 00000000") + std::string(32, '\0') + std::string(60U << 20, 'x');
  for (ClientId id = 1; id <= 4; ++id) controller.asks(id, part);
  CHECK(controller.out.empty());
  controller.asks(5, part);
  CHECK(controller.closed(1));
  controller.says(2, std::string(4U << 20, 'x'));
  CHECK(controller.down.size() == 65);
}

TEST_CASE("at the end every client gets the end of its connection, and who comes later, too") {
  Controller controller;
  controller.asks(7, request("00000000", "x"));
  controller.opens(8);
  controller.router.finish(controller.out);
  controller.opens(9);
  for (const ClientId id : {7U, 8U, 9U}) CHECK(controller.closed(id));
}

TEST_CASE("a client on loopback is told to the program under the address of its host") {
  Controller controller;
  controller.opens(7, 0x7F000001);
  controller.says(7, request("00000000", "ccs_killport", hex("00001092")));
  REQUIRE(controller.down.size() == 1);
  CHECK(controller.sent(0).bytes.substr(0, 4) == hex("0a000001"));
}

TEST_CASE("a process that has no answer gives an empty reply, told once for each client host and cause") {
  Controller controller;
  for (const ClientId id : {7U, 8U}) controller.asks(id, request("00000004", "ping"));
  for (const std::uint32_t number : {1U, 2U})
    controller.router.on(wire::CcsAnswer{2, token(number), true, 0, {}, "process 2 has ended"}, at(0s),
                         controller.out, controller.down);
  for (const ClientId id : {7U, 8U}) CHECK((controller.got(id) == kNothing && controller.closed(id)));
  CHECK(controller.said() ==
        std::vector<std::string>{"CCS client 192.0.2.7 got an empty reply: process 2 has ended"});
}

TEST_CASE("what a process was asked before it went has an empty reply; others go on") {
  Controller controller;
  controller.asks(7, request("00000004", "ping"));
  controller.asks(8, request("00000000", "ping"));
  controller.router.gone(2, at(0s), controller.out, controller.down);
  CHECK((controller.got(7) == kNothing && controller.closed(7)));
  CHECK_FALSE(controller.closed(8));
}

TEST_CASE("of the multicasts for one handler one is under way, and the next follows its answer") {
  Controller controller;
  const std::string first = "00000000 00000003", second = "00000006 00000003";
  controller.asks(7, request("fffffffe", "both", "a", first));
  controller.asks(8, request("fffffffe", "both", "b", second));
  controller.asks(9, request("fffffffe", "both", "c", second));
  controller.asks(10, request("fffffffe", "other", "d", second));
  controller.asks(11, request("00000000", "both"));
  REQUIRE(controller.down.size() == 3);
  CHECK((controller.down[0].first == 0 && controller.down[1].first == 3 && controller.down[2].first == 0));
  SECTION("its answer") {
    controller.answers(1, 1, "A");
  }
  SECTION("no answer") {
    controller.router.on(wire::CcsAnswer{0, token(1), false, 0, {}}, at(0s), controller.out, controller.down);
  }
  SECTION("the process of its first PE is gone") {
    controller.router.gone(0, at(0s), controller.out, controller.down);
  }
  SECTION("its client has left, which does not stop it; so has the next") {
    controller.router.on(ClientClosed{ClientKind::ccs, 7}, at(0s), controller.out);
    controller.router.on(ClientClosed{ClientKind::ccs, 8}, at(0s), controller.out);
    CHECK(controller.down.size() == 3);
    controller.answers(1, 1, "A");
    REQUIRE(controller.down.size() == 4);
    CHECK(controller.sent(3).bytes.back() == 'c');
    return;
  }
  REQUIRE(controller.down.size() == 4);
  CHECK((controller.down[3].first == 3 && controller.sent(3).bytes.back() == 'b'));
  controller.answers(1, 2, "B");
  REQUIRE(controller.down.size() == 5);
  CHECK(controller.got(8) == hex("00000001") + "B");
}

TEST_CASE("an answer to a multicast that nobody has been asked yet is a forgery") {
  Controller controller;
  for (const ClientId id : {7U, 8U})
    controller.asks(id, request("fffffffe", "both", "", "00000000 00000003"));
  controller.answers(0, 2, "forged");
  CHECK(controller.out.empty());
  controller.answers(0, 1, "A");
  CHECK((controller.closed(7) && controller.down.size() == 2));
}

TEST_CASE("who was not told a token cannot answer, and is found out when he tries") {
  Controller controller;
  for (const ClientId id : {7U, 8U, 9U}) controller.asks(id, request("00000000", "x"));
  controller.router.on(ClientClosed{ClientKind::ccs, 9}, at(0s), controller.out);
  const auto guess = [&](std::uint32_t token) {
    return controller.router.on(wire::CcsAnswer{3, token, true, 3, "lie"}, at(0s), controller.out,
                                controller.down);
  };
  std::size_t borne = 0;
  while (borne < 1000 && guess(static_cast<std::uint32_t>(borne + 1))) ++borne;
  CHECK(borne == ccs::Router::kMostGuesses);
  CHECK(guess(UINT32_MAX));
  CHECK(controller.got(7).empty());
  CHECK(controller.got(8).empty());
  for (int i = 0; i < 1000; ++i) REQUIRE(controller.answers(0, 3, "late"));  // its client has gone
  CHECK(controller.answers(3, 2, "delayed"));                                // another process may be told
  CHECK(controller.got(8) == hex("00000007") + "delayed");
}

TEST_CASE("of native programs nobody answers but who was asked") {
  Controller controller{false};
  controller.router.start({3, 1, true}, at(0s), controller.out, controller.down);
  controller.asks(7, request("00000001", "where"));
  controller.answers(2, 1, "lie");
  CHECK(controller.got(7).empty());
  controller.answers(1, 1, "here");
  CHECK(controller.got(7) == hex("00000004") + "here");
}

TEST_CASE("multicasts for one handler that wait are bounded") {
  Controller controller;
  const std::string bytes = request("fffffffe", "both", "", "00000000 00000003");
  for (ClientId id = 1; id <= ccs::Router::kMaxQueued + 1; ++id) controller.asks(id, bytes);
  CHECK(controller.out.empty());
  controller.asks(999, bytes);
  CHECK((controller.got(999) == kNothing && controller.closed(999)));
}

TEST_CASE("an unanswered request has an empty reply after its time; a multicast stays under way") {
  Controller controller{plan_with(2s)};
  controller.opens(7, kPeer, 1s);
  controller.says(7, request("00000000", "slow"), 1s);
  controller.opens(8, kPeer, 2s);
  controller.says(8, request("fffffffe", "both", "", "00000000 00000003"), 2s);
  CHECK(controller.router.next_deadline() == at(3s));
  controller.router.tick(at(3s), controller.out, controller.down);
  CHECK((controller.got(7) == kNothing && controller.closed(7)));
  CHECK(
      controller.said() ==
      std::vector<std::string>{"CCS client 192.0.2.7 got an empty reply: 'slow' has not answered within 2 s "
                               "(++server-timeout)"});
  controller.router.tick(at(4s), controller.out, controller.down);
  CHECK((controller.got(8) == kNothing && controller.closed(8)));
  controller.asks(9, request("fffffffe", "both", "", "00000000 00000003"));
  CHECK(controller.down.size() == 2);
  controller.answers(0, 2, "late");
  CHECK(controller.down.size() == 3);
  CHECK(controller.got(8) == kNothing);
}

TEST_CASE("handlers can be denied") {
  ccs::Plan plan{kOwn};
  plan.denied = {"ccs_killpe"};
  Controller controller{plan};
  controller.asks(7, request("00000000", "ccs_killpe"));
  controller.asks(8, request("00000000", "ccs_killpex"));
  CHECK((controller.got(7) == kNothing && controller.closed(7)));
  CHECK(controller.said() ==
        std::vector<std::string>{"CCS client 192.0.2.7 asked for 'ccs_killpe' (++server-deny): refused"});
  CHECK(controller.down.size() == 1);
}

TEST_CASE("the text that the job prints is fetched by who has asked for it, with a NUL behind it") {
  Controller controller;
  controller.router.printed("before\n", controller.out);
  controller.asks(6, request("00000000", "redirect stdio", "\1"));
  CHECK((controller.got(6) == kNothing && controller.closed(6)));
  controller.router.printed("one\n", controller.out);
  controller.router.printed("two\n", controller.out);
  controller.asks(7, request("00000000", "fetch stdio"));
  CHECK((controller.got(7) == hex("00000009") + "one\ntwo\n" + '\0' && controller.closed(7)));
  controller.asks(8, request("00000000", "fetch stdio"));
  CHECK(controller.got(8).empty());
  SECTION("the next text is the answer") {
    controller.router.printed("x", controller.out);
    CHECK(controller.got(8) == hex("00000002") + 'x' + '\0');
    CHECK(controller.closed(8));
  }
  SECTION("a second one releases the first") {
    controller.asks(9, request("00000000", "fetch stdio"));
    CHECK((controller.got(8) == kNothing && controller.closed(8)));
  }
  SECTION("text is kept when who waited has left") {
    controller.router.on(ClientClosed{ClientKind::ccs, 8}, at(0s), controller.out);
    controller.router.printed("y", controller.out);
    controller.asks(9, request("00000000", "fetch stdio"));
    CHECK(controller.got(9) == hex("00000002") + 'y' + '\0');
  }
  SECTION("the end of the job is the end of the connection") {
    controller.router.finish(controller.out);
    CHECK((controller.got(8).empty() && controller.closed(8)));
  }
  CHECK(controller.down.empty());
}

TEST_CASE("text that nobody fetches is bounded, and what is left out is told") {
  Controller controller;
  controller.asks(6, request("00000000", "redirect stdio"));
  const std::string piece(1U << 20, 'x');
  for (std::size_t i = 0; i < ccs::StdioFeed::kMost / piece.size() + 2; ++i)
    controller.router.printed(piece, controller.out);
  controller.asks(7, request("00000000", "fetch stdio"));
  const std::string text = controller.got(7).substr(4);
  CHECK(text.starts_with("charmrun: 2097152 bytes of output are left out here\nxxx"));
  CHECK(text.size() < ccs::StdioFeed::kMost + 100);
}

TEST_CASE("a report can name the requests that a process may have died of") {
  Controller controller;
  controller.asks(7, request("00000004", "ccs_killpe"));
  controller.asks(8, request("00000000", "ping"));
  controller.asks(9, request("ffffffff", "all"));
  CHECK(controller.router.unanswered(2) ==
        std::vector<std::string>{
            "had not answered this CCS request: 'ccs_killpe' for PE 4, from 192.0.2.7:4242",
            "may not have answered this CCS request: 'all' for all PEs, from 192.0.2.7:4242"});
  for (ClientId id = 10; id < 20; ++id) controller.asks(id, request("00000004", "more"));
  CHECK(controller.router.unanswered(2).size() == ccs::Router::kMaxNamed + 1);
}

TEST_CASE("a waiting multicast whose client has left, or has waited too long, takes no place any more") {
  Controller controller{plan_with(2s)};
  const std::string bytes = request("fffffffe", "both", "", "00000000 00000003");
  for (ClientId id = 1; id <= ccs::Router::kMaxQueued + 1; ++id) controller.asks(id, bytes);
  controller.router.on(ClientClosed{ClientKind::ccs, 5}, at(0s), controller.out);
  controller.asks(998, bytes);
  CHECK_FALSE(controller.closed(998));
  controller.router.tick(at(2s), controller.out, controller.down);
  CHECK(controller.closed(998));
  controller.asks(999, bytes);
  CHECK_FALSE(controller.closed(999));
  CHECK(controller.down.size() == 1);
  controller.answers(0, 1, "late");
  CHECK(controller.down.size() == 2);
}

TEST_CASE("while a job is resized, all that was asked has an empty reply, and nothing else is sent") {
  Controller controller;
  const std::string bytes = request("fffffffe", "both", "", "00000000 00000003");
  controller.asks(7, bytes);
  controller.asks(8, bytes);
  controller.asks(9, request("00000004", "ping"));
  controller.router.start({}, at(0s), controller.out, controller.down);
  for (const ClientId id : {7U, 8U, 9U}) CHECK((controller.got(id) == kNothing && controller.closed(id)));
  CHECK(controller.down.size() == 2);
  controller.asks(10, bytes);
  CHECK_FALSE(controller.closed(10));
  controller.router.start({2, 1}, at(0s), controller.out, controller.down);
  CHECK((controller.got(10) == kNothing && controller.closed(10)));  // there is no PE 3 any more
  CHECK(controller.down.size() == 2);
}

TEST_CASE("what was for several PEs is given up when a process is gone") {
  Controller controller;
  controller.asks(7, request("ffffffff", "all"));
  controller.asks(8, request("fffffffe", "both", "", "00000000 00000003"));
  controller.router.gone(3, at(0s), controller.out, controller.down);
  for (const ClientId id : {7U, 8U}) CHECK((controller.got(id) == kNothing && controller.closed(id)));
}

TEST_CASE("whole requests may wait for a job that starts slowly") {
  Controller controller{false};
  controller.asks(7, request("00000000", "ping"));
  controller.opens(8);
  controller.router.tick(at(ccs::Clients::kRequestTime), controller.out, controller.down);
  CHECK_FALSE(controller.closed(7));
  CHECK((controller.got(8) == kNothing && controller.closed(8)));
  controller.start();
  CHECK(controller.down.size() == 1);
}

TEST_CASE("who has sent most has to go when there is no room") {
  Controller controller;
  const auto part = [](std::size_t size) {
    return hex("04000000 00000000") + std::string(32, '\0') + std::string(size, 'x');
  };
  controller.asks(1, part(63U << 20));
  for (ClientId id = 2; id <= 5; ++id) controller.asks(id, part(50U << 20));
  CHECK_FALSE(controller.closed(5));
  controller.asks(6, request("00000000", "ping"));
  CHECK(controller.down.size() == 1);
}

TEST_CASE("a handler's name cannot write to the user's terminal") {
  Controller controller{plan_with(1s)};
  controller.asks(7, request("00000000", "x\n\x1b[2Jcharmrun: error"));
  controller.router.tick(at(1s), controller.out, controller.down);
  REQUIRE(controller.said().size() == 1);
  CHECK(controller.said()[0].find_first_of("\n\x1b") == std::string::npos);
  controller.asks(8, request("00000000", "y\n"));
  CHECK(controller.router.unanswered(0)[0].find('\n') == std::string::npos);
}

TEST_CASE("refusals that differ in numbers alone are told once, and so is that there are too many") {
  Controller controller;
  for (ClientId id = 1; id <= 100; ++id) controller.asks(id, request("000000ff", "x"));
  CHECK(controller.said().size() == 1);
  for (ClientId id = 1001; id < 1100; ++id) {
    controller.opens(id, static_cast<std::uint32_t>(id));
    controller.says(id, request("000000ff", "x"));
  }
  CHECK(controller.said().size() == ccs::Clients::kMaxNotes + 1);
  CHECK(controller.said().back() == "further refusals of CCS clients are not told");
}

TEST_CASE("for a native program, the launchers spread what is for several, and the root knows the PEs") {
  Controller controller{false};
  controller.router.start({3, 2, true}, at(0s), controller.out, controller.down);
  controller.asks(1, request("00000000", "ccs_getinfo"));
  CHECK(controller.got(1) == hex("00000010 00000003 00000002 00000002 00000002"));
  controller.asks(2, request("ffffffff", "where", "data"));
  controller.asks(3, request("fffffffd", "where", {}, "00000005 00000001 00000000"));
  controller.asks(4, request("fffffffe", "where", {}, "00000001 00000002"));
  REQUIRE(controller.down.size() == 3);
  const auto& all = get<wire::CcsSpread>(controller.down[0].second);
  CHECK((all.everybody && all.first && all.last));
  const auto delivery = wire::parse_ccs_delivery(all.bytes);
  REQUIRE(delivery);
  CHECK((delivery->handler == "where" && delivery->data == "data" && delivery->token == all.token));
  const auto& some = get<wire::CcsSpread>(controller.down[1].second);
  CHECK_FALSE(some.everybody);
  CHECK(some.processes == std::vector<wire::ProcessSet::Range>{{0, 0}, {2, 2}});
  CHECK(wire::parse_ccs_delivery(some.bytes)->data.empty());
  controller.answers(0, 2, "merged");
  CHECK(controller.got(3) == hex("00000006") + "merged");
  controller.asks(5, request("00000004", "where"));
  CHECK(get<wire::CcsForward>(controller.down.back().second).process == 2);
}

TEST_CASE("lost processes are asked nothing more, and what is for all goes to the others") {
  Controller controller{false};
  controller.router.start({5, 1, true}, at(0s), controller.out, controller.down);
  controller.asks(1, request("00000002", "where"));
  controller.asks(2, request("00000001", "where"));
  controller.asks(3, request("ffffffff", "where"));
  controller.router.lost({{2, 3}}, at(1s), controller.out, controller.down);
  CHECK(controller.got(1) == hex("00000000"));
  CHECK(controller.got(2).empty());
  CHECK(controller.got(3) == hex("00000000"));  // it waited for all
  controller.down.clear();
  controller.asks(4, request("00000003", "where"));
  CHECK(controller.got(4) == hex("00000000"));
  CHECK(controller.down.empty());
  controller.asks(5, request("ffffffff", "where"));
  controller.asks(6, request("fffffffd", "where", {}, "00000001 00000002 00000004"));
  REQUIRE(controller.down.size() == 2);
  const auto& all = get<wire::CcsSpread>(controller.down[0].second);
  CHECK_FALSE(all.everybody);
  CHECK(all.processes == std::vector<wire::ProcessSet::Range>{{0, 1}, {4, 4}});
  const auto& some = get<wire::CcsSpread>(controller.down[1].second);
  CHECK(some.processes == std::vector<wire::ProcessSet::Range>{{1, 1}, {4, 4}});
}

TEST_CASE("a large request for a native program's processes goes in pieces") {
  Controller controller{false};
  controller.router.start({3, 1, true}, at(0s), controller.out, controller.down);
  controller.asks(1, request("ffffffff", "where", std::string(2 * wire::kCcsPiece, 'x')));
  REQUIRE(controller.down.size() == 3);
  std::string payload;
  for (const auto& [process, message] : controller.down) payload += get<wire::CcsSpread>(message).bytes;
  CHECK(wire::parse_ccs_delivery(payload)->data.size() == 2 * wire::kCcsPiece);
  CHECK(get<wire::CcsSpread>(controller.down[1].second).everybody);
  CHECK_FALSE(get<wire::CcsSpread>(controller.down[1].second).first);
  CHECK(get<wire::CcsSpread>(controller.down[2].second).last);
}

TEST_CASE("what is large for several processes is refused, and counts for all who may have to hold it") {
  Controller controller{false};
  controller.router.start({3, 1, true}, at(0s), controller.out, controller.down);
  controller.asks(1, request("ffffffff", "where", std::string(ccs::Router::kMaxSpread + 1, 'x')));
  CHECK(controller.down.empty());
  CHECK(controller.got(1) == kNothing);
  constexpr std::size_t kFit = ccs::Router::kMaxSent / ccs::Router::kSpreadCost / ccs::Router::kMaxSpread;
  const std::string large = request("ffffffff", "where", std::string(ccs::Router::kMaxSpread, 'x'));
  for (ClientId id = 2; id < 2 + kFit; ++id) controller.asks(id, large);
  const std::size_t sent = controller.down.size();
  CHECK(sent > 0);
  controller.asks(100, large);
  CHECK(controller.down.size() == sent);
  CHECK(controller.got(100) == kNothing);
}

TEST_CASE("who leaves does not take back what was sent: large requests count on, for a while") {
  Controller controller;
  const std::string large = request("00000004", "where", std::string(wire::kMaxCcsRequest, 'x'));
  constexpr std::size_t kFit = ccs::Router::kMaxSent / wire::kMaxCcsRequest;
  const auto ask_and_leave = [&](Duration now) {
    controller.opens(7, kPeer, now);
    controller.says(7, large, now);
    controller.router.on(ClientClosed{ClientKind::ccs, 7}, at(now), controller.out);
  };
  for (std::size_t i = 0; i < kFit; ++i) ask_and_leave(0s);
  const std::size_t sent = controller.down.size();
  controller.down.clear();
  ask_and_leave(59s);
  CHECK(controller.down.empty());
  SECTION("until it is answered") {
    controller.answers(2, 1, "done");
  }
  SECTION("or a minute is over") {
    controller.router.tick(at(61s), controller.out, controller.down);
  }
  ask_and_leave(61s);
  CHECK(controller.down.size() == sent / kFit);
}

}  // namespace charmtree::ccs_router_test
