// SPDX-License-Identifier: Apache-2.0
// The frames with which a connection to the control socket begins, as docs/CONTROL.md shows them.
#include "charmrun/control/protocol.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "tree/base/random.hpp"

namespace charmtree::protocol_test {

using namespace charmtree::control;

namespace {

std::optional<Message> decoded(const std::string& bytes) {
  wire::FrameDecoder decoder{wire::kMaxLinkFrame};
  decoder.append(bytes);
  const auto frame = decoder.next();
  return frame && frame->has_value() ? decode(**frame) : std::nullopt;
}

std::string bytes(std::initializer_list<int> head, const std::string& text) {
  std::string all;
  for (const int each : head) all += static_cast<char>(each);
  return all + text;
}

}  // namespace

TEST_CASE("the example of the page is what is sent", "[control]") {
  CHECK(encode(Hello{1, "1.0 (protocol 34)"}) ==
        bytes({0x15, 0, 0, 0, 0x01, 0x00, 0x01, 0x11}, "1.0 (protocol 34)"));
  CHECK(encode(Open{"status"}) == bytes({0x09, 0, 0, 0, 0x01, 0x01, 0x06}, "status"));
  CHECK(encode(Opened{}) == bytes({0x02, 0, 0, 0, 0x01, 0x02}, ""));
  const std::string refused =
      encode(Refused{"the charmrun of that job has no service 'tea'", "use the same charmrun for both"});
  CHECK(refused.starts_with(bytes({0x4f, 0, 0, 0, 0x01, 0x03, 0x2d}, "the charmrun of that job")));
}

TEST_CASE("frames of the control protocol arrive as they were sent", "[control]") {
  CHECK(std::get<Hello>(*decoded(encode(Hello{7, "9.9"}))).version == 7);
  CHECK(std::get<Hello>(*decoded(encode(Hello{7, "9.9"}))).charmrun == "9.9");
  CHECK(std::get<Open>(*decoded(encode(Open{"tea"}))).service == "tea");
  CHECK(std::holds_alternative<Opened>(*decoded(encode(Opened{}))));
  CHECK(std::get<Refused>(*decoded(encode(Refused{"what", "fix"}))).fix == "fix");
}

TEST_CASE("texts that are too long are cut by their sender, and refused by their reader", "[control]") {
  const auto cut = decoded(encode(Refused{std::string(10'000, 'x'), std::string(10'000, 'y')}));
  REQUIRE(cut);
  CHECK(std::get<Refused>(*cut).what == std::string(kMaxReason, 'x'));
  const std::string name(kMaxName + 1, 'x');
  const std::string payload = static_cast<char>(name.size()) + name;
  CHECK_FALSE(decoded(wire::make_frame(1, payload)));
  CHECK(decoded(wire::make_frame(1, static_cast<char>(kMaxName) + name.substr(1))));
}

TEST_CASE("no bytes are taken for a frame that they are not", "[control]") {
  CHECK_FALSE(decoded(wire::make_frame(4, "")));
  CHECK_FALSE(decoded(wire::make_frame(kServiceFrames, "")));
  CHECK_FALSE(decoded(wire::make_frame(2, "more")));
  Random random{5};
  for (int turn = 0; turn < 20'000; ++turn) {
    std::string frame = encode(Refused{"what", "fix"});
    for (int i = 0; i < 2; ++i) frame[random.below(frame.size())] = static_cast<char>(random.below(256));
    if (const auto message = decoded(frame)) CHECK(decoded(encode(*message))->index() == message->index());
  }
}

}  // namespace charmtree::protocol_test
