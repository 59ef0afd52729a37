// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/slow_reply.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/charm_capture.hpp"
#include "tree/clients/charm_server.hpp"
#include "tree/wire/charm_message.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::slow_reply_test {

using namespace charmtree::proto;
using charm_capture::header;
using charm_capture::hex;
using wire::make_charm_message;

namespace {

constexpr Duration kPatience = 600s;  // of a client, with each byte

/// A client that waits, and the clock: takes what it is sent, and fails if it has to give up.
class Waiting {
public:
  explicit Waiting(std::string_view question) {
    server_.opened(1, now_, outputs_);
    receive(charm_capture::kInitnode0);
    server_.table(wire::encode(wire::NodeTable{0, 1, {{0, 0, 1, {{1000, {}}}}}}), outputs_);
    outputs_.clear();
    receive(std::string{question});
    outputs_.clear();
  }
  void receive(const std::string& bytes) { server_.received(1, bytes, now_, outputs_); }
  /// How long it goes well, at most `longest`.
  Duration wait(Duration longest) {
    const Instant begun = now_;
    while (now_ - begun < longest) {
      const Instant next = std::min({server_.next_deadline(), begun + longest, heard_ + kPatience});
      now_ = next;
      server_.tick(now_, outputs_);
      hear();
      if (now_ - heard_ >= kPatience) break;
    }
    return now_ - begun;
  }
  std::string hear() {
    std::string bytes;
    for (const ClientOutput& output : outputs_) {
      if (const auto* to = get_if<ToClient>(&output)) bytes += to->bytes;
      if (const auto* gone = get_if<ClientLost>(&output)) lost = gone->why;
    }
    outputs_.clear();
    if (!bytes.empty()) heard_ = now_;
    heard += bytes;
    return bytes;
  }
  void printed() { server_.printed(0, outputs_), hear(); }
  void scanned(std::string_view text) { server_.scanned(0, text, outputs_), hear(); }
  /// The payload of the one reply that it has got, as a C string.
  std::string text(const char* type) {
    REQUIRE(heard.size() == wire::kCharmHeader + SlowReply::kRoom);
    CHECK(heard.substr(0, wire::kCharmHeader) == header("00200000", type));
    return heard.c_str() + wire::kCharmHeader;
  }

  std::string heard, lost;

private:
  CharmServer server_{{0, 1, 1}};
  ClientOutputs outputs_;
  Instant now_{Duration{0}}, heard_{now_};
};

std::string question(const char* type, std::string_view text) {
  return make_charm_message(type, std::string{text} + '\0');
}

}  // namespace

TEST_CASE("a reply that comes in time is one message of its own length", "[slow_reply]") {
  Waiting client{question("scanf", "%d")};
  CHECK(client.wait(569s) == 569s);
  CHECK(client.heard.empty());
  client.scanned("5 ");
  CHECK(client.heard == header("00000003", "scanf-data") + hex("352000"));
}

TEST_CASE("a client that waits for its receipt for a week does not give up", "[slow_reply]") {
  Waiting client{question(GENERATE("printsyn", "printerrsyn"), "x")};
  CHECK(client.wait(168h) == 168h);
  client.printed();
  CHECK(client.text("printdone") == std::string(168 * 3600 / 570 - 16, ' '));
}

TEST_CASE("after 16 bytes a scanf that skips blanks gets blanks and then its input", "[slow_reply]") {
  Waiting client{question("scanf", "%d %s")};
  CHECK(client.wait(4h) == 4h);
  client.scanned("12 words\n");
  const std::string text = client.text("scanf-data");
  CHECK(text == std::string(4 * 3600 / 570 - 16, ' ') + "12 words ");
  int number = 0;
  char word[10] = "";
  CHECK(std::sscanf(text.c_str(), "%d %9s", &number, word) == 2);
  CHECK(number == 12);
}

TEST_CASE("a scanf that reads blanks waits as long as its header lasts", "[slow_reply]") {
  Waiting client{question("scanf", GENERATE("%c", "%3[a-z]", "x%d", "%d%n", "no conversion"))};
  SECTION("2.5 hours") {
    CHECK(client.wait(9000s) == 9000s);
    client.scanned("a");
    CHECK(client.text("scanf-data") == "a");
  }
  SECTION("the client's own limit") {
    CHECK(client.wait(10h) == 16 * 570s + kPatience);
  }
}

TEST_CASE("what comes meanwhile for a client that has got a part of its reply waits", "[slow_reply]") {
  Waiting client{make_charm_message("barrier0") + question("printsyn", "x")};
  client.wait(600s);
  CHECK(client.heard.size() == 1);
  client.printed();
  CHECK(client.text("printdone").empty());
  client.receive(question("printsyn", "y"));
  client.heard.clear();
  client.printed();
  CHECK(client.heard == header("00000001", "printdone") + '\0');
}

TEST_CASE("an input that has no room in a reply that was begun loses its client", "[slow_reply]") {
  Waiting client{question("scanf", "%s")};
  client.wait(600s);
  client.scanned(std::string(SlowReply::kRoom, 'x'));
  CHECK(client.heard.size() == 1);
  CHECK(client.lost.find("2097152 characters") != std::string::npos);
}

}  // namespace charmtree::slow_reply_test
