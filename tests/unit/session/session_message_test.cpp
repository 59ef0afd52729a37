// SPDX-License-Identifier: Apache-2.0
#include "charmrun/session/session_message.hpp"

#include <catch2/catch.hpp>

#include "tree/base/random.hpp"

namespace charmtree::session_message_test {

using namespace charmtree::session;

namespace {

std::vector<Message> all() {
  ToShow shown{{3, 2, true, "text\n", wire::Tail::prompt, Instant{5s}}, "h1", 4, true};
  Run run{std::make_shared<const std::string>("job"), {{"h0", 0, 2}, {"h1", 1, 0}}, 3s, false, true};
  return {Tree{"1.0", "nodes", "host a\n", "main", 3, 2, true},
          Said{2, "a line"},
          shown,
          Wanted{65536},
          Suspended{},
          Over{3, 9, {{1, 0, 4}}},
          run,
          EndSession{},
          Signalled{2},
          Typed{"typed", true},
          Written{1ULL << 40},
          Delivered{7}};
}

std::string coded(const Message& message) {
  auto frame = encode(message);
  REQUIRE(frame);
  return *frame;
}

Decoder::To receiver(const Message& message) {
  return is_of_root(message) ? Decoder::To::client : Decoder::To::root;
}

}  // namespace

TEST_CASE("every word between a session and its users arrives as it was said", "[session]") {
  for (const Message& message : all()) {
    const std::string frame = coded(message);
    Decoder decoder{receiver(message)};
    for (const char byte : frame.substr(0, frame.size() - 1)) {
      decoder.append({&byte, 1});
      const auto nothing = decoder.next();
      REQUIRE((nothing && !nothing->has_value()));
    }
    decoder.append({&frame.back(), 1});
    const auto heard = decoder.next();
    REQUIRE((heard && heard->has_value()));
    CHECK((*heard)->index() == message.index());
    CHECK(coded(**heard) == frame);
  }
}

TEST_CASE("what the other end may not say breaks the connection for good", "[session]") {
  for (const Message& message : all()) {
    Decoder decoder{is_of_root(message) ? Decoder::To::root : Decoder::To::client};
    decoder.append(coded(message));
    CHECK_FALSE(decoder.next());
    decoder.append(coded(all()[receiver(message) == Decoder::To::root ? 0 : 7]));
    CHECK_FALSE(decoder.next());
  }
}

TEST_CASE("no bytes are taken for a word that they are not", "[session]") {
  Random random{23};
  std::size_t refused = 0;
  for (int turn = 0; turn < 20'000; ++turn) {
    std::string frame = coded(all()[random.below(12)]);
    const auto at = static_cast<std::size_t>(random.below(frame.size()));
    switch (random.below(3)) {
      case 0:
        frame[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        frame.resize(at);
        break;
      default:
        frame.insert(at, 1, static_cast<char>(random.below(256)));
    }
    Decoder decoder{random.below(2) == 0 ? Decoder::To::root : Decoder::To::client};
    decoder.append(frame);
    const auto heard = decoder.next();
    if (!heard) ++refused;
    if (!heard || !heard->has_value()) continue;
    CHECK(encode(**heard));  // whatever was taken is whole
  }
  CHECK(refused > 1000);
}

TEST_CASE("a word that says what cannot be breaks the connection", "[session]") {
  Over over;
  over.signal = 65;
  Said said;
  said.tone = 3;
  ToShow shown;
  shown.output.stream = 4;
  Run late, early;
  late.job = early.job = std::make_shared<const std::string>("job");
  late.time_limit = std::chrono::seconds{1'000'000'001};
  early.time_limit = Duration{-1};
  for (const Message& message : std::vector<Message>{over, said, shown, late, early}) {
    Decoder decoder{receiver(message)};
    decoder.append(coded(message));
    CHECK_FALSE(decoder.next());
  }
}

TEST_CASE("a count that is beyond its frame asks for no memory", "[session]") {
  const std::string many = "\xFF\xFF\xFF\xFF\x0F";
  const std::string run = wire::make_frame(static_cast<std::uint8_t>(Message{Run{}}.index()), "\x01j" + many);
  const std::string over =
      wire::make_frame(static_cast<std::uint8_t>(Message{Over{}}.index()), std::string(2, '\0') + many);
  Decoder root{Decoder::To::root}, client{Decoder::To::client};
  root.append(run);
  client.append(over);
  CHECK_FALSE(root.next());
  CHECK_FALSE(client.next());
}

TEST_CASE("what is too large for a frame is an error of its sender", "[session]") {
  Typed typed;
  typed.bytes.resize(wire::kMaxLinkFrame + 1);
  CHECK_FALSE(encode(typed));
}

}  // namespace charmtree::session_message_test
