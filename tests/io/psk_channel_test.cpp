// SPDX-License-Identifier: Apache-2.0
// Two ends of a connection in memory.
#include <catch2/catch.hpp>

#include "tree/io/mpiexec/psk_channel.hpp"

namespace charmtree::psk_channel_test {

using namespace charmtree::io;

namespace {

using End = PskContext::End;
const std::string kSecret(32, 's');

struct Pair {
  PskContext client_context, server_context;
  PskChannel client{client_context}, server{server_context};
  std::string at_client, at_server;  // what has been said to them
  Result<void> client_ok, server_ok;

  explicit Pair(const std::string& server_secret)
      : client_context(End::client, kSecret), server_context(End::server, server_secret) {}

  /// Until neither has more to say, or one has enough of it.
  void carry() {
    for (;;) {
      const std::string up = client.take(), down = server.take();
      if ((up.empty() && down.empty()) || !client_ok || !server_ok) return;
      server_ok = server.receive(up, at_server);
      client_ok = client.receive(down, at_client);
    }
  }
};

}  // namespace

TEST_CASE("ends that know the same secret prove it to each other and then talk", "[psk]") {
  Pair pair{kSecret};
  pair.client.send("early, ");
  CHECK_FALSE(pair.client.established());
  pair.carry();
  CHECK(pair.client_ok.ok());
  CHECK(pair.server_ok.ok());
  CHECK(pair.client.established());
  CHECK(pair.server.established());
  pair.client.send("late");
  pair.server.send(std::string(100'000, 'x'));
  pair.carry();
  CHECK(pair.at_server == "early, late");
  CHECK((pair.at_client == std::string(100'000, 'x')));
}

TEST_CASE("nothing that is said can be read on the way", "[psk]") {
  Pair pair{kSecret};
  pair.carry();
  pair.client.send("a very particular text");
  CHECK(pair.client.take().find("particular") == std::string::npos);
}

TEST_CASE("an end without the secret is refused and hears nothing", "[psk]") {
  Pair pair{std::string(32, 'x')};
  pair.client.send("for friends only");
  pair.server.send("the same");
  pair.carry();
  CHECK_FALSE(pair.server_ok.ok());
  CHECK_FALSE(pair.server.established());
  CHECK_FALSE(pair.client.established());
  CHECK(pair.at_server.empty());
  CHECK(pair.at_client.empty());
  CHECK_FALSE(pair.server.receive("more", pair.at_server).ok());
}

TEST_CASE("bytes changed on their way end the connection", "[psk]") {
  Pair pair{kSecret};
  pair.carry();
  pair.client.send("pay 1 to A");
  std::string bytes = pair.client.take();
  bytes[bytes.size() / 2] ^= 1;
  CHECK_FALSE(pair.server.receive(bytes, pair.at_server).ok());
  CHECK(pair.at_server.empty());
  CHECK_FALSE(pair.server.receive(bytes, pair.at_server).ok());
}

TEST_CASE("bytes cannot be said a second time", "[psk]") {
  Pair pair{kSecret};
  pair.carry();
  pair.client.send("once");
  const std::string bytes = pair.client.take();
  CHECK(pair.server.receive(bytes, pair.at_server).ok());
  CHECK_FALSE(pair.server.receive(bytes, pair.at_server).ok());
  CHECK(pair.at_server == "once");
}

TEST_CASE("who says anything else, or never comes to the point, is refused", "[psk]") {
  for (const char* words : {"GET / HTTP/1.1\r\n\r\n", "SSH-2.0-OpenSSH\r\n", "\x16\x03\x01"}) {
    PskContext context{End::server, kSecret};
    PskChannel server{context};
    std::string plain;
    bool refused = false;
    std::size_t sent = 0;
    for (const std::string bytes = words; !refused && sent <= 2 * PskChannel::kMostBefore;
         sent += bytes.size())
      refused = !server.receive(bytes, plain).ok();
    CHECK(refused);
    CHECK(plain.empty());
    CHECK_FALSE(server.established());
  }
}

}  // namespace charmtree::psk_channel_test
