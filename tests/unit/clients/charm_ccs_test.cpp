// SPDX-License-Identifier: Apache-2.0
// CCS between a launcher and its Charm++ processes, byte for byte.
#include <catch2/catch.hpp>
#include <map>

#include "tests/unit/charm_capture.hpp"
#include "tree/clients/charm_server.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::charm_ccs_test {

using namespace charmtree::proto;
using namespace charm_capture;
using wire::make_charm_message;

namespace {

/// Payload of `req_fw` or `reply_fw`; `token` and `length` in hex.
std::string payload(std::string_view token, std::string_view data, std::string_view length = "00000001") {
  return std::string(50, '\0') + hex(token) + hex(length) + std::string{data};
}

/// The two captured processes; `start` gives them their table.
class Pair {
public:
  Pair() {
    for (const ClientId id : {ClientId{0}, ClientId{1}}) server.opened(id, {}, outputs);
    says(0, kInitnode0);
    says(1, kInitnode1);
  }
  void start() {
    server.table(wire::encode(wire::NodeTable{0, 1, {{0, 0, 0x7f000001, {{0xa4b9, {}}, {0xbee5, {}}}}}}),
                 outputs);
  }
  void says(ClientId client, const std::string& bytes) { server.received(client, bytes, {}, outputs); }
  void asks(std::uint32_t process, const std::string& payload) { server.request(process, payload, outputs); }

  /// What has been put out since the last call: bytes for that client ...
  std::string bytes_for(ClientId client) {
    sort();
    return std::exchange(bytes_[client], {});
  }
  /// ... and answers.
  std::vector<RequestAnswered> answers() {
    sort();
    return std::exchange(answers_, {});
  }
  bool closed(ClientId client) {
    sort();
    return closed_.contains(client);
  }

  CharmServer server{{0, 2, 2}};
  ClientOutputs outputs;

private:
  void sort() {
    for (ClientOutput& output : std::exchange(outputs, {})) {
      if (auto* to = get_if<ToClient>(&output)) bytes_[to->client] += to->bytes + (to->tail ? *to->tail : "");
      if (auto* answer = get_if<RequestAnswered>(&output)) answers_.push_back(std::move(*answer));
      if (auto* close = get_if<CloseClient>(&output)) closed_.insert(close->client);
    }
  }

  std::map<ClientId, std::string> bytes_;
  std::vector<RequestAnswered> answers_;
  std::set<ClientId> closed_;
};

const std::string kProbe1 = header("0000003a", "req_fw") + std::string(14, '\0') + "ccs_getinfo" +
                            std::string(21, '\0') + hex("00000001 00000000 00000000");

}  // namespace

TEST_CASE("CCS requests wait until the process has answered the launcher's own, then come in order") {
  Pair pair;
  pair.asks(1, payload("00000007", "early"));
  CHECK(pair.bytes_for(1).empty());
  pair.start();
  CHECK(pair.bytes_for(1) == kTable1 + kProbe1);
  CHECK(pair.bytes_for(0) == kTable0);
  pair.asks(1, payload("00000008", "more"));
  CHECK(pair.bytes_for(1).empty());
  pair.says(1, make_charm_message("reply_fw", payload("00000000", "info")));
  CHECK(pair.bytes_for(1) == make_charm_message("req_fw", payload("00000007", "early")) +
                                 make_charm_message("req_fw", payload("00000008", "more")));
  CHECK(pair.answers().empty());
  pair.asks(1, payload("00000009", "now"));
  CHECK(pair.bytes_for(1) == make_charm_message("req_fw", payload("00000009", "now")));
}

TEST_CASE("a process that waits for another reply gets its CCS requests after that") {
  Pair pair;
  pair.start();
  pair.says(1, make_charm_message("printsyn", "x"));
  pair.bytes_for(1);
  pair.asks(1, payload("00000007", ""));
  CHECK(pair.bytes_for(1).empty());
  pair.server.printed(1, pair.outputs);
  CHECK(pair.bytes_for(1) == header("00000001", "printdone") + '\0' + kProbe1);
}

TEST_CASE("answers to CCS requests go up under their token, from any process") {
  Pair pair;
  pair.start();
  pair.says(1, make_charm_message("reply_fw", payload("00000007", "yes")));
  pair.says(1, make_charm_message("reply_fw", payload("00000008", "", "00000000")));
  const auto answers = pair.answers();
  REQUIRE(answers.size() == 2);
  CHECK(
      (answers[0].process == 1 && answers[0].token == 7 && answers[0].answered && answers[0].bytes == "yes"));
  CHECK((answers[1].token == 8 && !answers[1].answered));
}

TEST_CASE("requests to a process that is gone, or has ended, have an empty answer") {
  const bool ended = GENERATE(false, true);
  CAPTURE(ended);
  Pair pair;
  pair.start();
  pair.asks(1, payload("00000007", "x"));
  if (ended)
    pair.says(1, make_charm_message("ending", "0"));
  else
    pair.server.closed(1, {}, pair.outputs);
  pair.asks(1, payload("00000008", "x"));
  const auto answers = pair.answers();
  REQUIRE(answers.size() == 2);
  for (const RequestAnswered& answer : answers) CHECK((answer.answered && answer.bytes.empty()));
  CHECK((answers[0].token == 7 && answers[1].token == 8));
}

TEST_CASE("an answer that is too short for its header ends the conversation with its process alone") {
  Pair pair;
  pair.start();
  pair.says(1, make_charm_message("reply_fw", std::string(57, '\0')));
  CHECK(pair.closed(1));
  CHECK_FALSE(pair.closed(0));
}

}  // namespace charmtree::charm_ccs_test
