// SPDX-License-Identifier: Apache-2.0
#include "ccs/session.hpp"

#include <catch2/catch.hpp>

#include "ccs/router.hpp"
#include "tree/wire/big_endian.hpp"

namespace charmtree::ccs_session_test {

using namespace charmtree::ccs;
using namespace charmtree::proto;

namespace {

const Key kKey{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
constexpr ClientId kClient = 7;

std::string number(std::uint32_t value) {
  std::string bytes;
  wire::write_u32(bytes, value);
  return bytes;
}

/// Of the request of that number, from 1.
std::uint32_t token(std::uint32_t number) {
  return TokenSeal{{}}.seal(number);
}

std::string hello(std::uint8_t level) {
  return std::string{kSessionMagic} + static_cast<char>(level) + std::string(2, '\0') + std::string(16, 'n');
}

/// The client's end of a session with a job of 4 processes with 2 PEs each.
class Peer {
public:
  explicit Peer(Keys keys = {}) : router_(plan(std::move(keys))) {
    router_.start({4, 2}, {}, out, down);
    router_.on(ClientOpened{ClientKind::ccs, kClient, 0xC0000207, 4242}, {}, out);
  }
  void says(const std::string& bytes) {
    router_.on(ClientBytes{ClientKind::ccs, kClient, bytes}, {}, out, down);
  }
  /// Begins a session; with a key as who has it.
  void begins(std::uint8_t level, const Key* key) {
    says(hello(level));
    const std::string answer = heard();
    REQUIRE(answer.substr(0, 5) == kSessionMagic);
    if (key == nullptr) return;
    CHECK(answer.size() == kSessionHello);
    const SessionSecrets secrets{*key, hello(level) + answer};
    says(secrets.client_proof);
    CHECK(heard() == secrets.server_proof);
    to_server = Sealer{secrets.to_server};
    to_client = Sealer{secrets.to_client};
  }
  std::string request(std::uint32_t id, std::int32_t pe, const std::string& data,
                      const std::vector<std::uint32_t>& pes = {}) {
    const std::string bytes = number(id) + wire::make_ccs_request({pe, "ping", pes, data});
    const std::string message = number(static_cast<std::uint32_t>(bytes.size())) + bytes;
    return message + to_server.code(message);
  }
  void answers(std::uint32_t number, const std::string& bytes, std::uint32_t length) {
    router_.on(wire::CcsAnswer{0, token(number), true, length, bytes}, {}, out, down);
  }
  /// What it has got since the last time.
  std::string heard() {
    std::string bytes;
    for (; looked_at_ < out.size(); ++looked_at_) {
      if (const auto* send = get_if<ClientSend>(&out[looked_at_])) bytes += send->bytes;
    }
    return bytes;
  }
  /// A message that it must have got.
  std::string message(std::uint32_t id, Status status, const std::string& bytes) {
    const std::string text = number(static_cast<std::uint32_t>(8 + bytes.size())) + number(id) +
                             number(static_cast<std::uint32_t>(status)) + bytes;
    return text + to_client.code(text);
  }
  template <class A>
  std::size_t count() const {
    return static_cast<std::size_t>(std::count_if(
        out.begin(), out.end(), [](const Action& action) { return holds_alternative<A>(action); }));
  }
  Router& router() { return router_; }

  Actions out;
  Requests down;
  Sealer to_server, to_client;

private:
  static Plan plan(Keys keys) {
    Plan plan{0x0A000001, std::move(keys)};
    plan.denied = {"denied"};
    return plan;
  }
  Router router_;
  std::size_t looked_at_ = 0;
};

Keys keys(std::uint8_t level) {
  Keys keys;
  keys.set(level, {kKey});
  return keys;
}

}  // namespace

TEST_CASE("a session takes requests without waiting, and answers each under its number as it comes") {
  const bool keyed = GENERATE(false, true);
  CAPTURE(keyed);
  Peer peer{keyed ? keys(3) : Keys{}};
  peer.begins(keyed ? 3 : 0, keyed ? &kKey : nullptr);
  std::string both = peer.request(11, 5, "a");
  both += peer.request(12, 0, "b");
  peer.says(both);
  REQUIRE(peer.down.size() == 2);
  const auto& forwarded = get<wire::CcsForward>(peer.down[0].second).bytes;
  CHECK(forwarded.substr(8, 6) == std::string(4, '\0') + (keyed ? "\1\3" : std::string(2, '\0')));
  peer.answers(2, "B", 1);
  CHECK(peer.heard() == peer.message(12, Status::answered, "B"));
  peer.answers(1, "first ", 11);
  peer.answers(1, "piece", 11);
  const std::string first = peer.message(11, Status::more, "first ");
  CHECK(peer.heard() == first + peer.message(11, Status::answered, "piece"));
  peer.says(peer.request(13, 1, ""));
  peer.router().on(wire::CcsAnswer{0, token(3), false, 0, {}}, {}, peer.out, peer.down);
  CHECK(peer.heard() == peer.message(13, Status::no_reply, ""));
  CHECK(peer.count<ClientClose>() == 0);
}

TEST_CASE("a request in a session that cannot be right is refused with the reason, and the session goes on") {
  Peer peer;
  peer.begins(0, nullptr);
  peer.says(peer.request(1, 8, ""));
  CHECK(peer.heard() == peer.message(1, Status::failed, "asked for PE 8; the job has 8"));
  peer.says(peer.request(2, -2, "", {3, 3}));
  CHECK(peer.heard() == peer.message(2, Status::failed, "named a PE twice"));
  std::string partial = peer.request(3, 1, "data");
  partial[11] = 5;  // one byte more than there is
  peer.says(partial);
  CHECK(peer.heard() == peer.message(3, Status::failed, "sent a request that does not fill its message"));
  peer.says(peer.request(4, 1, "data"));
  peer.router().on(wire::CcsAnswer{0, token(1), true, 0, {}, "process 0 has ended"}, {}, peer.out, peer.down);
  CHECK(peer.heard() == peer.message(4, Status::failed, "process 0 has ended"));
}

TEST_CASE("who has not the key gets no session, and what is not as it was sent ends one") {
  Peer peer{keys(3)};
  SECTION("a level without a key") {
    peer.says(hello(4));
  }
  SECTION("another version") {
    std::string other = hello(3);
    other[4] = 2;
    peer.says(other);
  }
  SECTION("no proof") {
    peer.says(hello(3));
    peer.says(std::string(SessionSecrets::kProof, 'x'));
  }
  SECTION("a changed byte, a repeated message, one of the other direction") {
    peer.begins(3, &kKey);
    std::string bytes = peer.request(1, 0, "data");
    SECTION("changed") {
      bytes[50] ^= 1;
    }
    SECTION("repeated") {
      peer.says(bytes);
      CHECK(peer.down.size() == 1);
      peer.down.clear();
    }
    SECTION("sent back") {
      bytes.replace(bytes.size() - 16, 16, peer.to_client.code(bytes.substr(0, 52)));
    }
    peer.says(bytes);
  }
  SECTION("a message that is too long or too short") {
    peer.begins(3, &kKey);
    peer.says(GENERATE(number(3), number(Session::kMaxMessage + 1)));
  }
  CHECK(peer.down.empty());
  CHECK(peer.count<ClientClose>() == 1);
  CHECK(peer.count<proto::Say>() == 1);
}

TEST_CASE("a session with too many requests under way is not read until half of them are answered") {
  Peer peer;
  peer.begins(0, nullptr);
  std::string bytes;
  for (std::uint32_t id = 1; id <= Clients::kMaxInSession + 10; ++id) bytes += peer.request(id, 0, "x");
  peer.says(bytes);
  CHECK(peer.down.size() == Clients::kMaxInSession);
  CHECK(peer.count<PauseClient>() == 1);
  std::uint32_t next = 1;
  for (; next < Clients::kMaxInSession / 2; ++next) peer.answers(next, "y", 1);
  CHECK(peer.down.size() == Clients::kMaxInSession);
  peer.answers(next, "y", 1);
  CHECK(peer.down.size() == Clients::kMaxInSession + 10);
  CHECK(peer.count<PauseClient>() == 2);
}

TEST_CASE("requests of a session that is ended in the middle are forgotten") {
  Peer peer;
  peer.begins(0, nullptr);
  peer.says(peer.request(1, -2, "x", {0, 3}));
  peer.says(peer.request(2, 0, "x"));
  peer.says(number(3));  // no message is so short
  CHECK(peer.count<ClientClose>() == 1);
  CHECK(peer.router().unanswered(0).size() == 1);  // the multicast, which the program has
  peer.answers(1, "late", 4);
  CHECK(peer.router().unanswered(0).empty());
}

TEST_CASE("a message that has begun must be complete in time, a silent session may stay") {
  Peer peer;
  peer.begins(0, nullptr);
  CHECK(peer.router().next_deadline() == kNever);
  const std::string bytes = peer.request(1, 0, "data");
  peer.says(bytes.substr(0, 20));
  CHECK(peer.router().next_deadline() == Instant{} + Clients::kRequestTime);
  SECTION("it is") {
    peer.says(bytes.substr(20));
    CHECK(peer.router().next_deadline() == kNever);
    CHECK(peer.down.size() == 1);
  }
  SECTION("it is not") {
    peer.router().tick(Instant{} + Clients::kRequestTime, peer.out, peer.down);
    CHECK(peer.count<ClientClose>() == 1);
    CHECK(peer.heard().empty());
  }
}

TEST_CASE("answers to a session that has gone are dropped") {
  Peer peer;
  peer.begins(0, nullptr);
  peer.says(peer.request(1, 0, "x") + peer.request(2, 0, "x"));
  peer.router().on(ClientClosed{ClientKind::ccs, kClient}, {}, peer.out);
  peer.heard();
  peer.answers(1, "late", 4);
  CHECK(peer.heard().empty());
}

TEST_CASE("sessions are bounded, and do not wait in the pending") {
  Peer peer;
  for (ClientId id = 100; id < 100 + Clients::kMaxSessions; ++id) {
    peer.router().on(ClientOpened{ClientKind::ccs, id, 1, 1}, {}, peer.out);
    peer.router().on(ClientBytes{ClientKind::ccs, id, hello(0)}, {}, peer.out, peer.down);
  }
  CHECK(peer.count<ClientClose>() == 0);
  peer.says(hello(0));
  CHECK(peer.count<ClientClose>() == 1);
}

}  // namespace charmtree::ccs_session_test
