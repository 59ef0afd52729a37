// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/charm_requests.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/charm_capture.hpp"
#include "tree/wire/ccs_message.hpp"

namespace charmtree::charm_requests_test {

using namespace charmtree::proto;
using charm_capture::hex;

namespace {

std::string payload(std::uint32_t token, std::size_t size = 1) {
  return wire::make_ccs_forward({0, "ping", {}, std::string(size, 'x')}, {0, 0, token});
}

bool hold(CharmRequests& requests, std::uint32_t token, std::size_t size = 1) {
  std::string bytes = payload(token, size);
  return requests.hold(bytes);
}

/// Of what can be sent now; 0: the launcher's own.
std::vector<std::uint32_t> tokens_due(CharmRequests& requests) {
  std::vector<std::uint32_t> tokens;
  for (const std::string& bytes : requests.due(6)) tokens.push_back(wire::parse_ccs_forwarded(bytes).token);
  return tokens;
}

using Tokens = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("a process gets one request of the launcher's own before any other, and the others in order") {
  CharmRequests requests;
  CHECK(requests.due(6).empty());
  REQUIRE(hold(requests, 1));
  REQUIRE(hold(requests, 2));
  const auto first = requests.due(6);
  REQUIRE(first.size() == 1);
  CHECK(first[0].substr(14, 11) == "ccs_getinfo");
  CHECK(first[0].substr(46) == hex("00000006 00000000 00000000"));
  CHECK(requests.due(6).empty());
  CHECK(requests.answered(0));
  CHECK(tokens_due(requests) == Tokens{1, 2});
  REQUIRE(hold(requests, 3));
  CHECK(tokens_due(requests) == Tokens{3});
}

TEST_CASE(
    "a process that does not show that it reads gets so many requests, and then one of the launcher's") {
  CharmRequests requests;
  REQUIRE(hold(requests, 1));
  CHECK(tokens_due(requests) == Tokens{0});
  CHECK(requests.answered(0));
  CHECK(tokens_due(requests) == Tokens{1});
  SECTION("in number") {
    for (std::uint32_t token = 2; token <= CharmRequests::kMaxUnread + 2; ++token)
      REQUIRE(hold(requests, token));
    const Tokens sent = tokens_due(requests);
    REQUIRE(sent.size() == CharmRequests::kMaxUnread);
    CHECK((sent.back() == 0 && sent[sent.size() - 2] == CharmRequests::kMaxUnread));
    CHECK(tokens_due(requests).empty());
    CHECK_FALSE(requests.answered(1));
    CHECK(tokens_due(requests).empty());  // the launcher's own is not answered yet
    CHECK(requests.answered(0));
    CHECK(tokens_due(requests) == Tokens{CharmRequests::kMaxUnread + 1, CharmRequests::kMaxUnread + 2});
  }
  SECTION("in bytes, but for a single one") {
    REQUIRE(hold(requests, 2, CharmRequests::kMaxUnreadBytes + 1));
    CHECK(tokens_due(requests) == Tokens{0});
    CHECK(requests.answered(0));
    CHECK(tokens_due(requests) == Tokens{2});
  }
}

TEST_CASE("an answer shows that all that was sent before has been read") {
  CharmRequests requests;
  REQUIRE(hold(requests, 1));
  CHECK(tokens_due(requests) == Tokens{0});
  CHECK(requests.answered(0));
  for (std::uint32_t token = 2; token <= CharmRequests::kMaxUnread; ++token) REQUIRE(hold(requests, token));
  CHECK(tokens_due(requests).size() == CharmRequests::kMaxUnread);
  CHECK_FALSE(requests.answered(CharmRequests::kMaxUnread - 1));
  for (std::uint32_t token = 1000; token < 1000 + CharmRequests::kMaxUnread - 1; ++token)
    REQUIRE(hold(requests, token));
  CHECK(tokens_due(requests).size() == CharmRequests::kMaxUnread - 1);
  CHECK_FALSE(requests.answered(77777));  // another process's
  REQUIRE(hold(requests, 5000));
  CHECK(tokens_due(requests) == Tokens{0});
}

TEST_CASE("what waits for a process is bounded in number and in bytes") {
  CharmRequests requests;
  REQUIRE(hold(requests, 1, CharmRequests::kMaxHeldBytes));
  CHECK_FALSE(hold(requests, 2));
  CHECK(requests.take_held().size() == 1);
  for (std::uint32_t token = 1; token <= CharmRequests::kMaxHeld; ++token) REQUIRE(hold(requests, token));
  CHECK_FALSE(hold(requests, 1));
}

}  // namespace charmtree::charm_requests_test
