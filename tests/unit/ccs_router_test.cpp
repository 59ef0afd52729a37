// SPDX-License-Identifier: Apache-2.0
#include "ccs/router.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/charm_capture.hpp"
#include "tree/proto/charm_requests.hpp"

using namespace charmtree;
using namespace charmtree::proto;
using charm_capture::hex;

namespace {

constexpr std::uint32_t kOwn = 0x0A000001, kPeer = 0xC0000207;

Instant at(Duration since_start) {
  return Instant{since_start};
}

/// A request as a stock client sends it. `pe` and the list in hex.
std::string request(std::string_view pe, std::string_view handler, const std::string& data = {},
                    std::string_view pes = "") {
  std::string bytes = wire::make_ccs_reply_head(static_cast<std::uint32_t>(data.size())) + hex(pe);
  bytes.append(handler).append(wire::kCcsHandler - handler.size(), '\0');
  return bytes + hex(pes) + data;
}

/// A job of 4 processes with 2 PEs each, and what has become of its clients' requests.
class Desk {
public:
  explicit Desk(bool started = true) {
    if (started) start();
  }
  void start() { router.start(4, 2, out, down); }
  void opens(ClientId client, std::uint32_t address = kPeer, Duration now = 0s) {
    router.on(ClientOpened{ClientKind::ccs, client, address, 4242}, at(now), out);
  }
  void says(ClientId client, const std::string& bytes) {
    router.on(ClientBytes{ClientKind::ccs, client, bytes}, out, down);
  }
  void asks(ClientId client, const std::string& bytes) {
    opens(client);
    says(client, bytes);
  }
  void answers(std::uint32_t process, std::uint32_t token, const std::string& bytes) {
    router.on(wire::CcsAnswer{process, token, true, static_cast<std::uint32_t>(bytes.size()), bytes}, out);
  }
  /// All bytes sent to the client so far.
  std::string got(ClientId client) const {
    std::string bytes;
    for (const Action& action : out) {
      const auto* send = std::get_if<ClientSend>(&action);
      if (send != nullptr && send->client == client) bytes += send->bytes;
    }
    return bytes;
  }
  bool closed(ClientId client) const {
    return std::any_of(out.begin(), out.end(), [&](const Action& action) {
      const auto* close = std::get_if<ClientClose>(&action);
      return close != nullptr && close->client == client;
    });
  }
  std::size_t notes() const {
    return static_cast<std::size_t>(std::count_if(
        out.begin(), out.end(), [](const Action& action) { return std::holds_alternative<Say>(action); }));
  }
  const wire::CcsForward& sent(std::size_t i) const { return std::get<wire::CcsForward>(down.at(i).second); }

  ccs::Router router{kOwn};
  Actions out;
  ccs::Requests down;
};

const std::string kNothing = hex("00000000");

}  // namespace

TEST_CASE("a CCS request reaches the process of its PE, byte for byte, and its answer the client") {
  Desk desk;
  desk.asks(7, request("00000005", "ping", "data"));
  REQUIRE(desk.down.size() == 1);
  CHECK(desk.down[0].first == 2);
  CHECK(desk.sent(0).last);
  CHECK(desk.sent(0).bytes == hex("c0000207 00001092 00000000 0000") + std::string{"ping"} +
                                  std::string(28, '\0') + hex("00000005 00000001 00000004") + "data");
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
  CHECK(desk.sent(0).bytes.substr(46) == hex("fffffffe 00000001 00000002 00000003 00000006") + "xy");
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
      {"authentication", hex("80000000")},
  }));
  CAPTURE(name);
  Desk desk;
  desk.asks(7, request("00000001", "good"));
  desk.asks(8, bytes);
  desk.asks(9, bytes);
  CHECK(desk.got(8) == kNothing);
  CHECK(desk.closed(8));
  CHECK(desk.closed(9));
  CHECK(desk.notes() == 1);
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
    desk.router.on(wire::CcsAnswer{0, 1, true, 7, piece}, desk.out);
  CHECK(desk.got(7) == hex("00000007") + "abcdefg");  // what is too much is dropped
  CHECK(desk.closed(7));
}

TEST_CASE("an answer that nobody waits for, or that the handler does not want to be sent, is no bytes") {
  Desk desk;
  desk.asks(7, request("00000000", "x"));
  desk.asks(8, request("00000000", "x"));
  desk.router.on(ClientClosed{ClientKind::ccs, 7});
  desk.answers(0, 1, "late");
  desk.answers(0, 99, "forged");
  CHECK(desk.out.empty());
  desk.router.on(wire::CcsAnswer{0, 2, false, 0, {}}, desk.out);
  CHECK(desk.got(8).empty());
  CHECK(desk.closed(8));
}

TEST_CASE("a client that sends no request in time is dropped, and the oldest of too many") {
  Desk desk;
  desk.opens(1);
  desk.opens(2, kPeer, 30s);
  desk.router.tick(at(ccs::Router::kRequestTime), desk.out);
  CHECK(desk.closed(1));
  CHECK_FALSE(desk.closed(2));
  for (ClientId id = 3; id < 3 + ccs::Router::kMaxWaiting; ++id) desk.opens(id, kPeer, 60s);
  CHECK(desk.closed(2));
  CHECK_FALSE(desk.closed(3));
}

TEST_CASE("clients cannot fill the memory with requests that they do not finish") {
  Desk desk;
  const std::string part = hex("04000000 00000000") + std::string(32, '\0') + std::string(60U << 20, 'x');
  for (ClientId id = 1; id <= 4; ++id) desk.asks(id, part);
  CHECK(desk.out.empty());
  desk.asks(5, part);
  CHECK(desk.closed(5));
  desk.says(1, std::string(4U << 20, 'x'));
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

TEST_CASE("a process gets one request of the launcher's own before any other, and the others in order") {
  CharmRequests requests;
  std::string a = "a", b = "b", c = "c";
  CHECK(requests.due(6).empty());
  REQUIRE(requests.hold(a));
  REQUIRE(requests.hold(b));
  const auto first = requests.due(6);
  REQUIRE(first.size() == 1);
  CHECK(first[0].substr(14, 11) == "ccs_getinfo");
  CHECK(first[0].substr(46) == hex("00000006 00000000 00000000"));
  CHECK(requests.due(6).empty());
  requests.answered();
  CHECK(requests.due(6) == std::vector<std::string>{"a", "b"});
  REQUIRE(requests.hold(c));
  CHECK(requests.due(6) == std::vector<std::string>{"c"});
}

TEST_CASE("what waits for a process is bounded in number and in bytes") {
  CharmRequests requests;
  std::string large(CharmRequests::kMaxHeldBytes, 'x'), small = "x";
  REQUIRE(requests.hold(large));
  CHECK_FALSE(requests.hold(small));
  CHECK(small == "x");
  CHECK(requests.take_held().size() == 1);
  for (std::size_t i = 0; i < CharmRequests::kMaxHeld; ++i) REQUIRE(requests.hold(small = "x"));
  CHECK_FALSE(requests.hold(small = "x"));
}
