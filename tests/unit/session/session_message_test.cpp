// SPDX-License-Identifier: Apache-2.0
#include "charmrun/session/session_message.hpp"

#include <catch2/catch.hpp>
#include <optional>

#include "charmrun/control/protocol.hpp"
#include "tree/base/random.hpp"

namespace charmtree::session_message_test {

using namespace charmtree::session;
using control::kServiceFrames;
using control::Line;
using control::Printed;

namespace {

std::vector<Message> all() {
  Printed shown{{3, 2, true, "text\n", wire::Tail::prompt, Instant{5s}}, "h1", 4, true};
  Run run{std::make_shared<const std::string>("job"), {{"h0", 0, 2}, {"h1", 1, 0}}, 3s, false, true};
  return {Tree{"nodes", "host a\n", "main", 3, 2, true, {}, {}},
          Line{2, "a line"},
          shown,
          Wanted{65536},
          Suspended{},
          Over{3, 9, {{1, 0, 4}}},
          run,
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

/// The message in the first frame of `bytes`. Nothing: there is none, or it is broken.
std::optional<Message> decoded(const std::string& bytes) {
  wire::FrameDecoder decoder{wire::kMaxLinkFrame};
  decoder.append(bytes);
  const auto frame = decoder.next();
  Message message;
  if (!frame || !frame->has_value() || !decode(**frame, message)) return {};
  return message;
}

}  // namespace

TEST_CASE("every message between a session and its clients arrives as it was sent", "[session]") {
  for (const Message& message : all()) {
    const std::string frame = coded(message);
    CHECK_FALSE(decoded(frame.substr(0, frame.size() - 1)));
    const auto received = decoded(frame);
    REQUIRE(received);
    CHECK(received->index() == message.index());
    CHECK(coded(*received) == frame);
  }
}

TEST_CASE("no bytes are taken for a message that they are not", "[session]") {
  Random random{23};
  std::size_t refused = 0;
  for (int turn = 0; turn < 20'000; ++turn) {
    std::string frame = coded(all()[random.below(11)]);
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
    const auto received = decoded(frame);
    if (!received)
      ++refused;
    else
      CHECK(encode(*received));  // what was taken is whole
  }
  CHECK(refused > 1000);
}

TEST_CASE("a message that says what cannot be is refused", "[session]") {
  Over over;
  over.signal = 65;
  Line line;
  line.tone = 3;
  Printed printed;
  printed.output.stream = 4;
  Run late, early;
  late.job = early.job = std::make_shared<const std::string>("job");
  late.time_limit = std::chrono::seconds{1'000'000'001};
  early.time_limit = Duration{-1};
  for (const Message& message : std::vector<Message>{over, line, printed, late, early})
    CHECK_FALSE(decoded(coded(message)));
}

TEST_CASE("a count that is beyond its frame asks for no memory", "[session]") {
  const std::string many = "\xFF\xFF\xFF\xFF\x0F";
  const auto type = [](const Message& message) {
    return static_cast<std::uint8_t>(kServiceFrames + message.index());
  };
  CHECK_FALSE(decoded(wire::make_frame(type(Run{}), "\x01j" + many)));
  CHECK_FALSE(decoded(wire::make_frame(type(Over{}), std::string(2, '\0') + many)));
}

TEST_CASE("what is too large for a frame is an error of its sender", "[session]") {
  Typed typed;
  typed.bytes.resize(wire::kMaxLinkFrame + 1);
  CHECK_FALSE(encode(typed));
}

}  // namespace charmtree::session_message_test
