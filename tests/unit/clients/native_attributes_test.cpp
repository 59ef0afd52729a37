// SPDX-License-Identifier: Apache-2.0
// What native clients of a host tell each other without a fence, as their server sees it: processes 4 to 6.
#include "tree/clients/native_attributes.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/unit/what_happened.hpp"
#include "tree/clients/native_server.hpp"
#include "tree/wire/pmi_standard.hpp"

namespace charmtree::native_attributes_test {

using namespace charmtree::proto;
namespace native = charmtree::wire::native;

namespace {

/// Client n is process n.
struct Bench {
  Bench() {
    for (ClientId client = 4; client < 7; ++client) enter(client);
    out.clear();
  }
  void enter(ClientId client) {
    server.opened(client, {}, out);
    says(client,
         native::Hello{native::kVersion, 4 + static_cast<std::uint32_t>(client - 4) % 3, 100, "test"});
    says(client, native::Put{"tuple"});
  }
  void says(ClientId client, const native::FromClient& message) {
    server.received(client, native::to_frame(message), {}, out);
  }
  void says_badly(ClientId client, const native::FromClient& message, const std::string& why) {
    says(client, message);
    REQUIRE(test::only<ClientLost>(out).size() == 1);
    CHECK(test::only<ClientLost>(out)[0].why == why);
  }
  /// What it heard since it was asked last.
  std::vector<native::FromLauncher> heard(ClientId client) {
    std::vector<native::FromLauncher> messages;
    for (const ToClient& sent : test::only<ToClient>(std::exchange(out, {}))) {
      REQUIRE(sent.client == client);
      wire::FrameDecoder decoder{wire::kMaxLinkFrame};
      decoder.append(sent.bytes);
      messages.push_back(native::decode_from_launcher(**decoder.next()).value());
    }
    return messages;
  }

  NativeServer server{{4, 3, 10}, 1};
  ClientOutputs out;
};

using Heard = std::vector<native::FromLauncher>;
const Heard kTaken{native::Attribute{true, ""}}, kNothing{native::Attribute{false, ""}};

}  // namespace

TEST_CASE("an attribute is told at once to who asks, and to who waits when it is put", "[native]") {
  Bench b;
  b.says(4, native::AttributeWanted{"a", false});
  CHECK(b.heard(4) == kNothing);
  b.says(5, native::AttributeWanted{"a", true});
  b.says(4, native::AttributePut{"b", "other"});
  CHECK(b.heard(4) == kTaken);
  b.says(4, native::AttributePut{"a", "1"});
  const auto sent = test::only<ToClient>(std::exchange(b.out, {}));
  REQUIRE(sent.size() == 2);
  CHECK((sent[0].client == 4 && sent[1].client == 5));
  CHECK(sent[1].bytes == native::to_frame(native::Attribute{true, "1"}));
  b.says(6, native::AttributePut{"a", "2"});
  CHECK(b.heard(6) == kTaken);
  b.says(5, native::AttributeWanted{"a", true});
  CHECK(b.heard(5) == Heard{native::Attribute{true, "2"}});
}

TEST_CASE("who waits for an attribute says nothing that is not possible then", "[native]") {
  const std::pair<native::FromClient, std::string> said[] = {
      {native::AttributeWanted{"b", false}, "asked for an attribute out of turn"},
      {native::AttributePut{"a", "1"}, "put an attribute out of turn"},
      {native::Finalize{0}, "finalized out of turn"}};
  for (const auto& [message, why] : said) {
    Bench b;
    b.says(4, native::AttributeWanted{"a", true});
    b.says_badly(4, message, why);
    b.out.clear();
    b.says(5, native::AttributePut{"a", "1"});  // nobody waits any more
    CHECK(b.heard(5) == kTaken);
  }
}

TEST_CASE("a process that is started again does not wait for what it wanted before", "[native]") {
  Bench b;
  b.says(4, native::AttributeWanted{"a", true});
  b.server.vacate(4, 1, false, b.out);
  b.enter(7);
  b.out.clear();
  b.says(7, native::AttributePut{"a", "1"});
  CHECK(b.heard(7) == kTaken);
}

TEST_CASE("a host has so many attributes, and those that it has may change", "[native]") {
  Bench b;
  for (std::size_t i = 0; i < NativeAttributes::kMost; ++i) {
    b.says(4, native::AttributePut{std::to_string(i), "v"});
    REQUIRE(b.heard(4) == kTaken);
  }
  b.says(5, native::AttributePut{"more", "v"});
  CHECK(b.heard(5) == kNothing);
  b.says(5, native::AttributePut{"7", "w"});
  CHECK(b.heard(5) == kTaken);
  b.says(6, native::AttributeWanted{"7", false});
  CHECK(b.heard(6) == Heard{native::Attribute{true, "w"}});
}

TEST_CASE("a name has its limits, as PMI has them", "[native]") {
  const std::string longest(wire::kMostPmiKey, 'n'), value(wire::kMostPmiValue, 'v');
  Bench b;
  b.says(4, native::AttributePut{longest, value});
  CHECK(b.heard(4) == kTaken);
  const native::FromClient messages[] = {
      native::AttributePut{"", "v"}, native::AttributePut{longest + 'n', "v"},
      native::AttributePut{"n", value + 'v'}, native::AttributeWanted{"", false},
      native::AttributeWanted{longest + 'n', false}};
  for (const auto& message : messages) {
    Bench other;
    other.says(5, message);
    REQUIRE(test::only<ClientLost>(other.out).size() == 1);
    CHECK(test::only<ClientLost>(other.out)[0].process == 5);
  }
}

TEST_CASE("nobody waits for one that a lost neighbour might have put", "[native]") {
  Bench b;
  b.says(4, native::AttributeWanted{"segment", true});
  b.server.lost({{9, 9}}, b.out);  // of another host
  b.out.clear();
  b.server.lost({{5, 5}}, b.out);
  const auto told = test::only<ToClient>(b.out);
  CHECK(std::any_of(told.begin(), told.end(), [](const ToClient& each) {
    return each.client == 4 && each.bytes == native::to_frame(native::Attribute{false, ""});
  }));
  b.out.clear();
  b.says(6, native::AttributePut{"segment", "7"});
  CHECK(b.heard(6) == kTaken);
}

}  // namespace charmtree::native_attributes_test
