// SPDX-License-Identifier: Apache-2.0
#include "ccs/router.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/ccs_desk.hpp"

namespace charmtree::ccs_router_test {

using namespace charmtree::proto;
using charm_capture::hex;
using namespace charmtree::ccs_desk;

TEST_CASE("a CCS request reaches the process of its PE, byte for byte, and its answer the client") {
  Desk desk;
  desk.asks(7, request("00000005", "ping", "data"));
  REQUIRE(desk.down.size() == 1);
  CHECK(desk.down[0].first == 2);
  CHECK(desk.sent(0).last);
  CHECK(desk.sent(0).bytes == hex("c0000207 00001092 00000000 0000") + std::string{"ping"} +
                                  std::string(28, '\0') + hex("00000005") + token_bytes(1) + hex("00000004") +
                                  "data");
  desk.answers(2, 1, "hello");
  CHECK(desk.got(7) == hex("00000005") + "hello");
  CHECK(desk.closed(7));
}

TEST_CASE("a request may come in any pieces, and nothing is sent before it is complete") {
  Desk desk;
  desk.opens(7);
  const std::string bytes = request("fffffffe", "both", "xy", "00000003 00000006");
  for (const char byte : bytes) {
    CHECK(desk.down.empty());
    desk.says(7, std::string{byte});
  }
  REQUIRE(desk.down.size() == 1);
  CHECK(desk.down[0].first == 1);  // the process of the first PE
  CHECK(desk.sent(0).bytes.substr(46) ==
        hex("fffffffe") + token_bytes(1) + hex("00000002 00000003 00000006") + "xy");
  CHECK(desk.out.empty());
}

TEST_CASE("a broadcast goes once, to the process of PE 0, and any process may answer") {
  Desk desk;
  desk.asks(7, request("ffffffff", "all"));
  REQUIRE(desk.down.size() == 1);
  CHECK(desk.down[0].first == 0);
  desk.answers(3, 1, "");
  CHECK(desk.got(7) == kNothing);
  CHECK(desk.closed(7));
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
  Desk desk;
  desk.asks(7, request("00000001", "good"));
  desk.asks(8, bytes);
  desk.asks(9, bytes);
  CHECK(desk.got(8) == kNothing);
  CHECK(desk.closed(8));
  CHECK(desk.closed(9));
  CHECK(desk.said().size() == 1);
  CHECK(desk.down.size() == 1);
  desk.answers(0, 1, "fine");
  CHECK(desk.got(7) == hex("00000004") + "fine");
}

TEST_CASE("as many PEs as there are can be asked") {
  Desk desk;
  desk.asks(7, request("fffffff8", "x", "",
                       "00000000 00000001 00000002 00000003 00000004 00000005 00000006 00000007"));
  CHECK(desk.down.size() == 1);
}

TEST_CASE("a handler name that fills its field is cut at 31 bytes") {
  Desk desk;
  desk.asks(7, hex("00000000 00000000") + std::string(32, 'h'));
  REQUIRE(desk.down.size() == 1);
  CHECK(desk.sent(0).bytes.substr(14, 32) == std::string(31, 'h') + '\0');
}

TEST_CASE("requests before the node table wait for it") {
  Desk desk{false};
  desk.asks(7, request("00000006", "x"));
  desk.asks(8, request("00000008", "x"));
  CHECK(desk.down.empty());
  CHECK(desk.out.empty());
  desk.start();
  REQUIRE(desk.down.size() == 1);
  CHECK(desk.down[0].first == 3);
  CHECK(desk.got(8) == kNothing);
}

TEST_CASE("large requests go down, and large answers come up, in pieces") {
  Desk desk;
  const std::string data(3U << 20, 'd');
  desk.asks(7, request("00000000", "x", data));
  REQUIRE(desk.down.size() == 4);
  std::string joined;
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(desk.sent(i).last == (i == 3));
    joined += desk.sent(i).bytes;
  }
  CHECK(joined.substr(wire::kCcsForwardedHeader) == data);

  for (const char* piece : {"abc", "defg", "h"})
    desk.router.on(wire::CcsAnswer{0, token(1), true, 7, piece}, at(0s), desk.out, desk.down);
  CHECK(desk.got(7) == hex("00000007") + "abcdefg");  // what is too much is dropped
  CHECK(desk.closed(7));
}

TEST_CASE("an answer that nobody waits for, or that the handler does not want to be sent, is no bytes") {
  Desk desk;
  desk.asks(7, request("00000000", "x"));
  desk.asks(8, request("00000000", "x"));
  desk.router.on(ClientClosed{ClientKind::ccs, 7}, at(0s), desk.out);
  desk.answers(0, 1, "late");
  desk.answers(0, 99, "forged");
  CHECK(desk.out.empty());
  desk.router.on(wire::CcsAnswer{0, token(2), false, 0, {}}, at(0s), desk.out, desk.down);
  CHECK(desk.got(8).empty());
  CHECK(desk.closed(8));
}

TEST_CASE("a client that sends no request in time is dropped, and the oldest of too many") {
  Desk desk;
  desk.opens(1);
  desk.opens(2, kPeer, 30s);
  desk.router.tick(at(ccs::Clients::kRequestTime), desk.out, desk.down);
  CHECK(desk.closed(1));
  CHECK_FALSE(desk.closed(2));
  for (ClientId id = 3; id < 3 + ccs::Clients::kMaxWaiting; ++id) desk.opens(id, kPeer, 60s);
  CHECK(desk.closed(2));
  CHECK_FALSE(desk.closed(3));
}

TEST_CASE("a request with a wrong PE is refused when all of it has come") {
  Desk desk;
  const std::string bytes = request("00000008", "x", "data");
  desk.opens(7);
  desk.says(7, bytes.substr(0, 43));
  CHECK(desk.got(7).empty());
  desk.says(7, bytes.substr(43));
  CHECK((desk.got(7) == kNothing && desk.closed(7)));
}

TEST_CASE("clients cannot fill the memory with requests that they do not finish") {
  Desk desk;
  const std::string part = hex("04000000 00000000") + std::string(32, '\0') + std::string(60U << 20, 'x');
  for (ClientId id = 1; id <= 4; ++id) desk.asks(id, part);
  CHECK(desk.out.empty());
  desk.asks(5, part);
  CHECK(desk.closed(1));
  desk.says(2, std::string(4U << 20, 'x'));
  CHECK(desk.down.size() == 65);
}

TEST_CASE("at the end every client gets the end of its connection, and who comes later, too") {
  Desk desk;
  desk.asks(7, request("00000000", "x"));
  desk.opens(8);
  desk.router.finish(desk.out);
  desk.opens(9);
  for (const ClientId id : {7U, 8U, 9U}) CHECK(desk.closed(id));
}

TEST_CASE("a client on loopback is told to the program under the address of its host") {
  Desk desk;
  desk.opens(7, 0x7F000001);
  desk.says(7, request("00000000", "ccs_killport", hex("00001092")));
  REQUIRE(desk.down.size() == 1);
  CHECK(desk.sent(0).bytes.substr(0, 4) == hex("0a000001"));
}

TEST_CASE("a process that has no answer gives an empty reply, told once for each client host and cause") {
  Desk desk;
  for (const ClientId id : {7U, 8U}) desk.asks(id, request("00000004", "ping"));
  for (const std::uint32_t number : {1U, 2U})
    desk.router.on(wire::CcsAnswer{2, token(number), true, 0, {}, "process 2 has ended"}, at(0s), desk.out,
                   desk.down);
  for (const ClientId id : {7U, 8U}) CHECK((desk.got(id) == kNothing && desk.closed(id)));
  CHECK(desk.said() ==
        std::vector<std::string>{"CCS client 192.0.2.7 got an empty reply: process 2 has ended"});
}

TEST_CASE("what a process was asked before it went has an empty reply; others go on") {
  Desk desk;
  desk.asks(7, request("00000004", "ping"));
  desk.asks(8, request("00000000", "ping"));
  desk.router.gone(2, at(0s), desk.out, desk.down);
  CHECK((desk.got(7) == kNothing && desk.closed(7)));
  CHECK_FALSE(desk.closed(8));
}

TEST_CASE("of the multicasts for one handler one is under way, and the next follows its answer") {
  Desk desk;
  const std::string first = "00000000 00000003", second = "00000006 00000003";
  desk.asks(7, request("fffffffe", "both", "a", first));
  desk.asks(8, request("fffffffe", "both", "b", second));
  desk.asks(9, request("fffffffe", "both", "c", second));
  desk.asks(10, request("fffffffe", "other", "d", second));
  desk.asks(11, request("00000000", "both"));
  REQUIRE(desk.down.size() == 3);
  CHECK((desk.down[0].first == 0 && desk.down[1].first == 3 && desk.down[2].first == 0));
  SECTION("its answer") {
    desk.answers(1, 1, "A");
  }
  SECTION("no answer") {
    desk.router.on(wire::CcsAnswer{0, token(1), false, 0, {}}, at(0s), desk.out, desk.down);
  }
  SECTION("the process of its first PE is gone") {
    desk.router.gone(0, at(0s), desk.out, desk.down);
  }
  SECTION("its client has left, which does not stop it; so has the next") {
    desk.router.on(ClientClosed{ClientKind::ccs, 7}, at(0s), desk.out);
    desk.router.on(ClientClosed{ClientKind::ccs, 8}, at(0s), desk.out);
    CHECK(desk.down.size() == 3);
    desk.answers(1, 1, "A");
    REQUIRE(desk.down.size() == 4);
    CHECK(desk.sent(3).bytes.back() == 'c');
    return;
  }
  REQUIRE(desk.down.size() == 4);
  CHECK((desk.down[3].first == 3 && desk.sent(3).bytes.back() == 'b'));
  desk.answers(1, 2, "B");
  REQUIRE(desk.down.size() == 5);
  CHECK(desk.got(8) == hex("00000001") + "B");
}

TEST_CASE("an answer to a multicast that nobody has been asked yet is a forgery") {
  Desk desk;
  for (const ClientId id : {7U, 8U}) desk.asks(id, request("fffffffe", "both", "", "00000000 00000003"));
  desk.answers(0, 2, "forged");
  CHECK(desk.out.empty());
  desk.answers(0, 1, "A");
  CHECK((desk.closed(7) && desk.down.size() == 2));
}

TEST_CASE("who was not told a token cannot answer, and is found out when he tries") {
  Desk desk;
  for (const ClientId id : {7U, 8U, 9U}) desk.asks(id, request("00000000", "x"));
  desk.router.on(ClientClosed{ClientKind::ccs, 9}, at(0s), desk.out);
  const auto guess = [&](std::uint32_t token) {
    return desk.router.on(wire::CcsAnswer{3, token, true, 3, "lie"}, at(0s), desk.out, desk.down);
  };
  std::size_t borne = 0;
  while (borne < 1000 && guess(static_cast<std::uint32_t>(borne + 1))) ++borne;
  CHECK(borne == ccs::Router::kMostGuesses);
  CHECK(guess(UINT32_MAX));
  CHECK(desk.got(7).empty());
  CHECK(desk.got(8).empty());
  for (int i = 0; i < 1000; ++i) REQUIRE(desk.answers(0, 3, "late"));  // its client has gone
  CHECK(desk.answers(3, 2, "delayed"));                                // another process may be told
  CHECK(desk.got(8) == hex("00000007") + "delayed");
}

TEST_CASE("of native programs nobody answers but who was asked") {
  Desk desk{false};
  desk.router.start({3, 1, true}, at(0s), desk.out, desk.down);
  desk.asks(7, request("00000001", "where"));
  desk.answers(2, 1, "lie");
  CHECK(desk.got(7).empty());
  desk.answers(1, 1, "here");
  CHECK(desk.got(7) == hex("00000004") + "here");
}

TEST_CASE("multicasts for one handler that wait are bounded") {
  Desk desk;
  const std::string bytes = request("fffffffe", "both", "", "00000000 00000003");
  for (ClientId id = 1; id <= ccs::Router::kMaxQueued + 1; ++id) desk.asks(id, bytes);
  CHECK(desk.out.empty());
  desk.asks(999, bytes);
  CHECK((desk.got(999) == kNothing && desk.closed(999)));
}

TEST_CASE("an unanswered request has an empty reply after its time; a multicast stays under way") {
  Desk desk{plan_with(2s)};
  desk.opens(7, kPeer, 1s);
  desk.says(7, request("00000000", "slow"), 1s);
  desk.opens(8, kPeer, 2s);
  desk.says(8, request("fffffffe", "both", "", "00000000 00000003"), 2s);
  CHECK(desk.router.next_deadline() == at(3s));
  desk.router.tick(at(3s), desk.out, desk.down);
  CHECK((desk.got(7) == kNothing && desk.closed(7)));
  CHECK(desk.said() == std::vector<std::string>{
                           "CCS client 192.0.2.7 got an empty reply: 'slow' has not answered within 2 s "
                           "(++server-timeout)"});
  desk.router.tick(at(4s), desk.out, desk.down);
  CHECK((desk.got(8) == kNothing && desk.closed(8)));
  desk.asks(9, request("fffffffe", "both", "", "00000000 00000003"));
  CHECK(desk.down.size() == 2);
  desk.answers(0, 2, "late");
  CHECK(desk.down.size() == 3);
  CHECK(desk.got(8) == kNothing);
}

TEST_CASE("handlers can be denied") {
  ccs::Plan plan{kOwn};
  plan.denied = {"ccs_killpe"};
  Desk desk{plan};
  desk.asks(7, request("00000000", "ccs_killpe"));
  desk.asks(8, request("00000000", "ccs_killpex"));
  CHECK((desk.got(7) == kNothing && desk.closed(7)));
  CHECK(desk.said() ==
        std::vector<std::string>{"CCS client 192.0.2.7 asked for 'ccs_killpe' (++server-deny): refused"});
  CHECK(desk.down.size() == 1);
}

TEST_CASE("the text that the job prints is fetched by who has asked for it, with a NUL behind it") {
  Desk desk;
  desk.router.printed("before\n", desk.out);
  desk.asks(6, request("00000000", "redirect stdio", "\1"));
  CHECK((desk.got(6) == kNothing && desk.closed(6)));
  desk.router.printed("one\n", desk.out);
  desk.router.printed("two\n", desk.out);
  desk.asks(7, request("00000000", "fetch stdio"));
  CHECK((desk.got(7) == hex("00000009") + "one\ntwo\n" + '\0' && desk.closed(7)));
  desk.asks(8, request("00000000", "fetch stdio"));
  CHECK(desk.got(8).empty());
  SECTION("the next text is the answer") {
    desk.router.printed("x", desk.out);
    CHECK(desk.got(8) == hex("00000002") + 'x' + '\0');
    CHECK(desk.closed(8));
  }
  SECTION("a second one releases the first") {
    desk.asks(9, request("00000000", "fetch stdio"));
    CHECK((desk.got(8) == kNothing && desk.closed(8)));
  }
  SECTION("text is kept when who waited has left") {
    desk.router.on(ClientClosed{ClientKind::ccs, 8}, at(0s), desk.out);
    desk.router.printed("y", desk.out);
    desk.asks(9, request("00000000", "fetch stdio"));
    CHECK(desk.got(9) == hex("00000002") + 'y' + '\0');
  }
  SECTION("the end of the job is the end of the connection") {
    desk.router.finish(desk.out);
    CHECK((desk.got(8).empty() && desk.closed(8)));
  }
  CHECK(desk.down.empty());
}

TEST_CASE("text that nobody fetches is bounded, and what is left out is told") {
  Desk desk;
  desk.asks(6, request("00000000", "redirect stdio"));
  const std::string piece(1U << 20, 'x');
  for (std::size_t i = 0; i < ccs::StdioFeed::kMost / piece.size() + 2; ++i)
    desk.router.printed(piece, desk.out);
  desk.asks(7, request("00000000", "fetch stdio"));
  const std::string text = desk.got(7).substr(4);
  CHECK(text.starts_with("charmrun: 2097152 bytes of output are left out here\nxxx"));
  CHECK(text.size() < ccs::StdioFeed::kMost + 100);
}

TEST_CASE("a report can name the requests that a process may have died of") {
  Desk desk;
  desk.asks(7, request("00000004", "ccs_killpe"));
  desk.asks(8, request("00000000", "ping"));
  desk.asks(9, request("ffffffff", "all"));
  CHECK(desk.router.unanswered(2) ==
        std::vector<std::string>{
            "had not answered this CCS request: 'ccs_killpe' for PE 4, from 192.0.2.7:4242",
            "may not have answered this CCS request: 'all' for all PEs, from 192.0.2.7:4242"});
  for (ClientId id = 10; id < 20; ++id) desk.asks(id, request("00000004", "more"));
  CHECK(desk.router.unanswered(2).size() == ccs::Router::kMaxNamed + 1);
}

TEST_CASE("a waiting multicast whose client has left, or has waited too long, takes no place any more") {
  Desk desk{plan_with(2s)};
  const std::string bytes = request("fffffffe", "both", "", "00000000 00000003");
  for (ClientId id = 1; id <= ccs::Router::kMaxQueued + 1; ++id) desk.asks(id, bytes);
  desk.router.on(ClientClosed{ClientKind::ccs, 5}, at(0s), desk.out);
  desk.asks(998, bytes);
  CHECK_FALSE(desk.closed(998));
  desk.router.tick(at(2s), desk.out, desk.down);
  CHECK(desk.closed(998));
  desk.asks(999, bytes);
  CHECK_FALSE(desk.closed(999));
  CHECK(desk.down.size() == 1);
  desk.answers(0, 1, "late");
  CHECK(desk.down.size() == 2);
}

TEST_CASE("while a job is resized, all that was asked has an empty reply, and nothing else is sent") {
  Desk desk;
  const std::string bytes = request("fffffffe", "both", "", "00000000 00000003");
  desk.asks(7, bytes);
  desk.asks(8, bytes);
  desk.asks(9, request("00000004", "ping"));
  desk.router.start({}, at(0s), desk.out, desk.down);
  for (const ClientId id : {7U, 8U, 9U}) CHECK((desk.got(id) == kNothing && desk.closed(id)));
  CHECK(desk.down.size() == 2);
  desk.asks(10, bytes);
  CHECK_FALSE(desk.closed(10));
  desk.router.start({2, 1}, at(0s), desk.out, desk.down);
  CHECK((desk.got(10) == kNothing && desk.closed(10)));  // there is no PE 3 any more
  CHECK(desk.down.size() == 2);
}

TEST_CASE("what was for several PEs is given up when a process is gone") {
  Desk desk;
  desk.asks(7, request("ffffffff", "all"));
  desk.asks(8, request("fffffffe", "both", "", "00000000 00000003"));
  desk.router.gone(3, at(0s), desk.out, desk.down);
  for (const ClientId id : {7U, 8U}) CHECK((desk.got(id) == kNothing && desk.closed(id)));
}

TEST_CASE("whole requests may wait for a job that starts slowly") {
  Desk desk{false};
  desk.asks(7, request("00000000", "ping"));
  desk.opens(8);
  desk.router.tick(at(ccs::Clients::kRequestTime), desk.out, desk.down);
  CHECK_FALSE(desk.closed(7));
  CHECK((desk.got(8) == kNothing && desk.closed(8)));
  desk.start();
  CHECK(desk.down.size() == 1);
}

TEST_CASE("who has sent most has to go when there is no room") {
  Desk desk;
  const auto part = [](std::size_t size) {
    return hex("04000000 00000000") + std::string(32, '\0') + std::string(size, 'x');
  };
  desk.asks(1, part(63U << 20));
  for (ClientId id = 2; id <= 5; ++id) desk.asks(id, part(50U << 20));
  CHECK_FALSE(desk.closed(5));
  desk.asks(6, request("00000000", "ping"));
  CHECK(desk.down.size() == 1);
}

TEST_CASE("a handler's name cannot write to the user's terminal") {
  Desk desk{plan_with(1s)};
  desk.asks(7, request("00000000", "x\n\x1b[2Jcharmrun: error"));
  desk.router.tick(at(1s), desk.out, desk.down);
  REQUIRE(desk.said().size() == 1);
  CHECK(desk.said()[0].find_first_of("\n\x1b") == std::string::npos);
  desk.asks(8, request("00000000", "y\n"));
  CHECK(desk.router.unanswered(0)[0].find('\n') == std::string::npos);
}

TEST_CASE("refusals that differ in numbers alone are told once, and so is that there are too many") {
  Desk desk;
  for (ClientId id = 1; id <= 100; ++id) desk.asks(id, request("000000ff", "x"));
  CHECK(desk.said().size() == 1);
  for (ClientId id = 1001; id < 1100; ++id) {
    desk.opens(id, static_cast<std::uint32_t>(id));
    desk.says(id, request("000000ff", "x"));
  }
  CHECK(desk.said().size() == ccs::Clients::kMaxNotes + 1);
  CHECK(desk.said().back() == "further refusals of CCS clients are not told");
}

TEST_CASE("for a native program, the launchers spread what is for several, and the root knows the PEs") {
  Desk desk{false};
  desk.router.start({3, 2, true}, at(0s), desk.out, desk.down);
  desk.asks(1, request("00000000", "ccs_getinfo"));
  CHECK(desk.got(1) == hex("00000010 00000003 00000002 00000002 00000002"));
  desk.asks(2, request("ffffffff", "where", "data"));
  desk.asks(3, request("fffffffd", "where", {}, "00000005 00000001 00000000"));
  desk.asks(4, request("fffffffe", "where", {}, "00000001 00000002"));
  REQUIRE(desk.down.size() == 3);
  const auto& all = std::get<wire::CcsSpread>(desk.down[0].second);
  CHECK((all.everybody && all.first && all.last));
  const auto delivery = wire::parse_ccs_delivery(all.bytes);
  REQUIRE(delivery);
  CHECK((delivery->handler == "where" && delivery->data == "data" && delivery->token == all.token));
  const auto& some = std::get<wire::CcsSpread>(desk.down[1].second);
  CHECK_FALSE(some.everybody);
  CHECK(some.processes == std::vector<wire::ProcessSet::Range>{{0, 0}, {2, 2}});
  CHECK(wire::parse_ccs_delivery(some.bytes)->data.empty());
  desk.answers(0, 2, "merged");
  CHECK(desk.got(3) == hex("00000006") + "merged");
  desk.asks(5, request("00000004", "where"));
  CHECK(std::get<wire::CcsForward>(desk.down.back().second).process == 2);
}

TEST_CASE("lost processes are asked nothing more, and what is for all goes to the others") {
  Desk desk{false};
  desk.router.start({5, 1, true}, at(0s), desk.out, desk.down);
  desk.asks(1, request("00000002", "where"));
  desk.asks(2, request("00000001", "where"));
  desk.asks(3, request("ffffffff", "where"));
  desk.router.lost({{2, 3}}, at(1s), desk.out, desk.down);
  CHECK(desk.got(1) == hex("00000000"));
  CHECK(desk.got(2).empty());
  CHECK(desk.got(3) == hex("00000000"));  // it waited for all
  desk.down.clear();
  desk.asks(4, request("00000003", "where"));
  CHECK(desk.got(4) == hex("00000000"));
  CHECK(desk.down.empty());
  desk.asks(5, request("ffffffff", "where"));
  desk.asks(6, request("fffffffd", "where", {}, "00000001 00000002 00000004"));
  REQUIRE(desk.down.size() == 2);
  const auto& all = std::get<wire::CcsSpread>(desk.down[0].second);
  CHECK_FALSE(all.everybody);
  CHECK(all.processes == std::vector<wire::ProcessSet::Range>{{0, 1}, {4, 4}});
  const auto& some = std::get<wire::CcsSpread>(desk.down[1].second);
  CHECK(some.processes == std::vector<wire::ProcessSet::Range>{{1, 1}, {4, 4}});
}

TEST_CASE("a large request for a native program's processes goes in pieces") {
  Desk desk{false};
  desk.router.start({3, 1, true}, at(0s), desk.out, desk.down);
  desk.asks(1, request("ffffffff", "where", std::string(2 * wire::kCcsPiece, 'x')));
  REQUIRE(desk.down.size() == 3);
  std::string payload;
  for (const auto& [process, message] : desk.down) payload += std::get<wire::CcsSpread>(message).bytes;
  CHECK(wire::parse_ccs_delivery(payload)->data.size() == 2 * wire::kCcsPiece);
  CHECK(std::get<wire::CcsSpread>(desk.down[1].second).everybody);
  CHECK_FALSE(std::get<wire::CcsSpread>(desk.down[1].second).first);
  CHECK(std::get<wire::CcsSpread>(desk.down[2].second).last);
}

TEST_CASE("what is large for several processes is refused, and counts for all who may have to hold it") {
  Desk desk{false};
  desk.router.start({3, 1, true}, at(0s), desk.out, desk.down);
  desk.asks(1, request("ffffffff", "where", std::string(ccs::Router::kMaxSpread + 1, 'x')));
  CHECK(desk.down.empty());
  CHECK(desk.got(1) == kNothing);
  constexpr std::size_t kFit = ccs::Router::kMaxSent / ccs::Router::kSpreadCost / ccs::Router::kMaxSpread;
  const std::string large = request("ffffffff", "where", std::string(ccs::Router::kMaxSpread, 'x'));
  for (ClientId id = 2; id < 2 + kFit; ++id) desk.asks(id, large);
  const std::size_t sent = desk.down.size();
  CHECK(sent > 0);
  desk.asks(100, large);
  CHECK(desk.down.size() == sent);
  CHECK(desk.got(100) == kNothing);
}

TEST_CASE("who leaves does not take back what was sent: large requests count on, for a while") {
  Desk desk;
  const std::string large = request("00000004", "where", std::string(wire::kMaxCcsRequest, 'x'));
  constexpr std::size_t kFit = ccs::Router::kMaxSent / wire::kMaxCcsRequest;
  const auto ask_and_leave = [&](Duration now) {
    desk.opens(7, kPeer, now);
    desk.says(7, large, now);
    desk.router.on(ClientClosed{ClientKind::ccs, 7}, at(now), desk.out);
  };
  for (std::size_t i = 0; i < kFit; ++i) ask_and_leave(0s);
  const std::size_t sent = desk.down.size();
  desk.down.clear();
  ask_and_leave(59s);
  CHECK(desk.down.empty());
  SECTION("until it is answered") {
    desk.answers(2, 1, "done");
  }
  SECTION("or a minute is over") {
    desk.router.tick(at(61s), desk.out, desk.down);
  }
  ask_and_leave(61s);
  CHECK(desk.down.size() == sent / kFit);
}

}  // namespace charmtree::ccs_router_test
