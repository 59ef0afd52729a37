// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/native_message.hpp"
#include "tree/wire/shared_values.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tree/wire/codec.hpp"
#include "tree/wire/messages.hpp"
#include "tree/wire/pmi_standard.hpp"

namespace charmtree::native_message_test {

using namespace charmtree::wire;
namespace native = charmtree::wire::native;

namespace {

/// The frame in `bytes`, which must outlive it.
Frame only_frame(std::string_view bytes) {
  REQUIRE(bytes.size() >= kFrameHeader);
  return Frame{static_cast<std::uint8_t>(bytes[5]), bytes.substr(kFrameHeader)};
}

void check_from_client(const native::FromClient& message) {
  const std::string bytes = native::to_frame(message);
  const auto decoded = native::decode_from_client(only_frame(bytes));
  REQUIRE(decoded);
  CHECK(*decoded == message);
  CHECK_FALSE(native::decode_from_launcher(only_frame(bytes)));
}

void check_from_launcher(const native::FromLauncher& message) {
  const std::string bytes = native::to_frame(message);
  const auto decoded = native::decode_from_launcher(only_frame(bytes));
  REQUIRE(decoded);
  CHECK(*decoded == message);
  CHECK_FALSE(native::decode_from_client(only_frame(bytes)));
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

bool launcher_takes(const native::Welcome& welcome) {
  const std::string bytes = native::to_frame(native::FromLauncher{welcome});
  return native::decode_from_launcher(only_frame(bytes)).ok();
}

}  // namespace

TEST_CASE("every message survives its frame, in its own direction only", "[native]") {
  check_from_client(native::Hello{native::kVersion, 15'999'999, 4'194'304, "0.1.0"});
  check_from_client(native::Put{std::string(kMaxTuple, '\xFF')});
  check_from_client(native::Put{});
  check_from_client(native::BarrierEnter{});
  check_from_client(native::BarrierEnter{7});
  check_from_client(native::Print{native::Stream::err, std::string(native::kMaxPrint, 'x')});
  check_from_client(native::Abort{INT32_MIN, "why"});
  check_from_client(native::Finalize{-1});
  check_from_client(native::Handler{"steps", CcsMerge{CcsMerge::sum, CcsMerge::float64}});
  check_from_client(native::Reply{UINT32_MAX, native::kMaxReply, std::string(native::kPiece, 'x')});
  check_from_client(native::ReplyData{"x"});
  check_from_client(native::Kept{7});
  check_from_client(native::FenceEnter{
      7, native::FenceEnter::Gives::value, {{0, 3}, {5, UINT32_MAX}}, std::string(kMostGiven, 'x')});
  check_from_client(native::FenceEnter{});
  check_from_client(
      native::FenceEnter{7, native::FenceEnter::Gives::ring, {}, std::string(kMostRingValue, 'x')});
  check_from_launcher(native::RingOver{UINT32_MAX, "left", ""});
  check_from_client(native::AttributePut{std::string(kMostPmiKey, 'n'), std::string(kMostPmiValue, 'v')});
  check_from_client(native::AttributeWanted{"n", true});
  check_from_launcher(native::Attribute{true, std::string(kMostPmiValue, 'v')});
  check_from_client(native::Offer{std::string(kMostKeyBytes, 'k'), std::string(kMostGiven, 'v')});
  check_from_client(native::Ask{UINT32_MAX, kMaxProcesses - 1, "k"});
  check_from_launcher(native::Told{UINT32_MAX, "", std::string(kMostGiven, 'v')});
  check_from_launcher(native::Told{1, "that process is lost", ""});
  check_from_client(native::Listen{std::string(kMostKeyBytes, 'k'), false});
  check_from_client(native::Answer{kMaxProcesses - 1, "k", std::string(kMostGiven, 'v')});
  check_from_launcher(native::Asked{kMaxProcesses - 1, std::string(kMostKeyBytes, 'k')});
  check_from_client(native::TopologyWanted{});
  check_from_launcher(native::Topology{false});
  check_from_client(native::PortWanted{PortKind::udp});
  check_from_launcher(native::Port{PortKind::tcp});
  check_from_launcher(native::Port{PortKind::udp, false});
  check_from_launcher(native::Values{3});
  check_from_launcher(native::FenceOver{UINT32_MAX, "process 7 is lost"});
  check_from_launcher(native::Request{1, "steps", 0x7F000001, 65535, 5, "data"});
  check_from_launcher(native::RequestData{std::string(native::kPiece, 'x')});

  check_from_launcher(native::Welcome{7, 9, 3, 5, 2, 1, 0, 4, {{4, 7}, {1, 1}}, {{0, 2, 2}, {2, 1, 5}}});
  check_from_launcher(native::Table{});
  check_from_launcher(native::BarrierRelease{});
  check_from_launcher(native::Finished{});
  check_from_launcher(native::Lost{{{1, 3}, {7, 7}}});
  check_from_launcher(
      native::Renewed{3, {{1, 4, 0x0A000001, {{0, "here"}}}, {2, 6, 0, {{0, {}}, {9, "there"}}}}});
  check_from_launcher(native::Missed{12});
  check_from_launcher(native::Refused{"process 7 has joined already"});
}

TEST_CASE("every message is these bytes: programs with another build of the library say the same",
          "[native]") {
  using native::FromClient, native::FromLauncher;
  const auto said = [](const FromClient& message) { return hex(native::to_frame(message)); };
  const auto heard = [](const FromLauncher& message) { return hex(native::to_frame(message)); };
  CHECK(said(native::Hello{native::kVersion, 300, 4'194'304, "0.1.0"}) ==
        "0f00000001010aac028080800205302e312e30");
  CHECK(said(native::Put{std::string{"\0\xFF", 2}}) == "0500000001020200ff");
  CHECK(said(native::BarrierEnter{UINT32_MAX}) == "070000000103ffffffff0f");
  CHECK(said(native::Print{native::Stream::out, "o\n"}) == "06000000010401026f0a");
  CHECK(said(native::Print{native::Stream::err, ""}) == "0400000001040200");
  CHECK(said(native::Abort{-2, "why"}) == "0b0000000105feffffff0f03776879");
  CHECK(said(native::Abort{INT32_MIN, ""}) == "080000000105808080800800");
  CHECK(said(native::Finalize{200, 4}) == "050000000106c80104");
  CHECK(said(native::Handler{"steps", CcsMerge{CcsMerge::max, CcsMerge::float64}}) ==
        "09000000010705737465707333");
  CHECK(said(native::Reply{7, native::kMaxReply, "xy"}) == "0a00000001080780808020027879");
  CHECK(said(native::ReplyData{"xy"}) == "050000000109027879");
  CHECK(said(native::Kept{128}) == "04000000010a8001");
  CHECK(said(native::FenceEnter{300, native::FenceEnter::Gives::value, {{1, 300}}, "xy"}) ==
        "0c000000010bac02010101ac02027879");
  CHECK(said(native::AttributePut{"n", "xy"}) == "07000000010c016e027879");
  CHECK(said(native::AttributeWanted{"n", true}) == "05000000010d016e01");
  CHECK(said(native::PortWanted{PortKind::udp}) == "03000000010e02");
  CHECK(heard(native::Welcome{7, 900, 3, 5, 2, 1, 4, 300, {{4, 8}}, {{0, 300, 3}}}) ==
        "1400000001410784070305020104ac020104080100ac0203");
  CHECK(heard(native::Table{}) == "020000000142");
  CHECK(heard(native::BarrierRelease{}) == "020000000143");
  CHECK(heard(native::Finished{}) == "020000000144");
  CHECK(heard(native::Refused{"no"}) == "050000000145026e6f");
  CHECK(heard(native::Request{1, "steps", 0x7F000001, 65535, 5, "data"}) ==
        "17000000014601057374657073818080f807ffff03050464617461");
  CHECK(heard(native::RequestData{"xy"}) == "050000000147027879");
  CHECK(heard(native::Lost{{{1, 300}, {777, 777}}}) == "0a00000001480201ac0289068906");
  CHECK(heard(native::Renewed{3, {{1, 4, 0x0A000001, {{0, "here"}, {0, "there"}}}}}) ==
        "2000000001490302046865726505746865726501020800828080a0e1ff7f020000000002");
  CHECK(heard(native::Missed{12}) == "03000000014a0c");
  CHECK(heard(native::Values{3}) == "03000000014b03");
  CHECK(heard(native::FenceOver{300, "no"}) == "07000000014cac02026e6f");
  CHECK(heard(native::RingOver{300, "a", "bc"}) ==
        "09000000014dac0201610262"
        "63");
  CHECK(heard(native::Attribute{true, "xy"}) == "06000000014e01027879");
  CHECK(heard(native::Port{PortKind::tcp}) == "04000000014f0101");
  CHECK(heard(native::Port{PortKind::udp, false}) == "04000000014f0200");
  CHECK(said(native::Offer{"k", "xy"}) == "07000000010f016b027879");
  CHECK(said(native::Ask{3, 7, "k"}) ==
        "06000000011003"
        "07016b");
  CHECK(said(native::TopologyWanted{}) == "020000000111");
  CHECK(heard(native::Told{3, "", "xy"}) ==
        "07000000015003"
        "00027879");
  CHECK(heard(native::Topology{true}) == "03000000015101");
  CHECK(said(native::Listen{"k", true}) == "050000000112016b01");
  CHECK(said(native::Answer{7, "k", "xy"}) == "08000000011307016b027879");
  CHECK(heard(native::Asked{7, "k"}) == "05000000015207016b");
}

TEST_CASE("the largest messages of a client fit a client's frame", "[native]") {
  CHECK(native::to_frame(native::Print{native::Stream::out, std::string(native::kMaxPrint, 'x')}).size() <=
        kMaxClientFrame);
  const native::Hello longest{UINT32_MAX, UINT32_MAX, UINT32_MAX, std::string(native::kMaxLibrary, 'v')};
  CHECK(native::to_frame(longest).size() <= native::kMaxHello);
}

TEST_CASE("texts beyond their limit are cut", "[native]") {
  const std::string abort = native::to_frame(native::Abort{1, std::string(native::kMaxAbortText + 1, 'x')});
  CHECK(get<native::Abort>(*native::decode_from_client(only_frame(abort))).text.size() ==
        native::kMaxAbortText);
  const std::string refused = native::to_frame(native::Refused{std::string(native::kMaxWhy + 1, 'x')});
  CHECK(native::decode_from_launcher(only_frame(refused)).ok());
}

TEST_CASE("a hello of another version is read as far as its version", "[native]") {
  Writer out;
  out.varint(native::kVersion + 1);
  out.raw("whatever that version says");
  const auto hello = native::decode_from_client(Frame{1, out.bytes()});
  REQUIRE(hello);
  CHECK(get<native::Hello>(*hello) == native::Hello{native::kVersion + 1, 0, 0, ""});
}

TEST_CASE("messages with bytes missing, left over or out of bounds are refused", "[native]") {
  const native::FromClient kinds[] = {native::Hello{native::kVersion, 1, 300, "0.1"}, native::Put{"t"},
                                      native::Print{native::Stream::out, "t"}, native::Abort{1, "t"},
                                      native::Finalize{0}};
  for (const auto& kind : kinds) {
    const std::string bytes = native::to_frame(kind);
    const Frame whole = only_frame(bytes);
    for (std::size_t size = 0; size < whole.payload.size(); ++size) {
      CHECK_FALSE(native::decode_from_client(Frame{whole.type, whole.payload.substr(0, size)}));
    }
    const std::string longer = std::string{whole.payload} + "x";
    const auto error = native::decode_from_client(Frame{whole.type, longer});
    REQUIRE_FALSE(error);
    CHECK(error.error().code == Errc::bad_peer);
  }

  Writer tuple;
  tuple.string(std::string(kMaxTuple + 1, 'x'));
  CHECK_FALSE(native::decode_from_client(Frame{2, tuple.bytes()}));
  CHECK_FALSE(native::decode_from_client(Frame{3, ""}));
  CHECK_FALSE(native::decode_from_client(Frame{4, std::string_view{"\3\0", 2}}));
  CHECK_FALSE(native::decode_from_client(Frame{0, ""}));
  CHECK_FALSE(native::decode_from_client(Frame{200, ""}));
}

TEST_CASE("a welcome with impossible numbers is refused", "[native]") {
  using Ranges = std::vector<ProcessSet::Range>;
  const Ranges one{{0, 0}}, four{{0, 3}};
  CHECK(launcher_takes({0, 1, 0, 1, 0, 0, 0, 1, one, {}}));
  CHECK(launcher_takes({3, 4, 3, 4, 0, 0, 0, 1, four, {{0, 1, 4}}}));
  CHECK_FALSE(launcher_takes({1, 1, 0, 1, 0, 0, 0, 1, one, {}}));                  // process >= total
  CHECK_FALSE(launcher_takes({1, 3, 3, 3, 0, 0, 0, 1, {{0, 2}}, {}}));             // no such rank
  CHECK_FALSE(launcher_takes({2, 3, 0, 4, 0, 0, 0, 1, four, {}}));                 // more than all
  CHECK_FALSE(launcher_takes({2, 3, 0, 0, 0, 0, 0, 1, {}, {}}));                   // nobody on this host
  CHECK_FALSE(launcher_takes({0, kMaxProcesses + 1, 0, 1, 0, 0, 0, 1, one, {}}));  // too many
  CHECK_FALSE(launcher_takes({0, 1, 0, 1, 1, 0, 0, 1, one, {}}));                  // no such host
  CHECK_FALSE(launcher_takes({0, 4, 0, 4, 0, 0, 0, 1, {{0, 2}}, {}}));             // not all of the host
  CHECK_FALSE(launcher_takes({0, 4, 0, 4, 0, 0, 0, 1, four, {{0, 1, 3}}}));        // not all of the job
  CHECK_FALSE(launcher_takes({3, 4, 1, 2, 0, 0, 0, 1, {{2, 2}, {4, 4}}, {}}));     // beyond the job
  CHECK_FALSE(launcher_takes({2, 4, 1, 2, 0, 0, 0, 1, {{2, 3}}, {}}));             // at another's rank
  CHECK_FALSE(launcher_takes({1, 4, 0, 2, 0, 0, 0, 1, {{2, 3}}, {}}));             // not among them
  constexpr std::uint32_t kHuge = UINT32_MAX;
  CHECK_FALSE(launcher_takes({0, 1, 0, 1, 0, 0, 0, 1, one, {{kHuge, 1, 1}}}));
  CHECK_FALSE(launcher_takes({0, 1, 0, 1, 0, 0, 0, 1, one, {{0, kHuge, kHuge}, {0, 2, kHuge}}}));
}

TEST_CASE("large data goes in pieces that follow one another", "[native]") {
  const std::string data(2 * native::kPiece + 1, 'x');
  FrameDecoder decoder{kMaxClientFrame};
  decoder.append(native::to_frames(native::Reply{7, 0, {}}, data));
  std::string got;
  for (int i = 0; i < 3; ++i) {
    const auto frame = decoder.next();
    REQUIRE(frame);
    REQUIRE(frame->has_value());
    const auto message = native::decode_from_client(**frame);
    REQUIRE(message);
    if (i > 0) {
      got += get<native::ReplyData>(*message).bytes;
      continue;
    }
    got = get<native::Reply>(*message).bytes;
    CHECK(get<native::Reply>(*message).size == data.size());
  }
  CHECK(got == data);
  CHECK(decoder.buffered() == 0);
}

TEST_CASE("CCS messages out of bounds are refused", "[native]") {
  const auto refused = [](const native::FromClient& message) {
    const std::string bytes = native::to_frame(message);
    return !native::decode_from_client(only_frame(bytes));
  };
  CHECK(refused(native::Handler{"", {}}));
  CHECK(refused(native::Handler{"steps", CcsMerge{CcsMerge::sum}}));
  CHECK(refused(native::Reply{1, native::kMaxReply + 1, ""}));
  CHECK(refused(native::Reply{1, 2, "xxx"}));
  CHECK(refused(native::ReplyData{""}));
}

TEST_CASE("losses beyond one message are several, and a reversed range is refused", "[native]") {
  std::vector<wire::ProcessSet::Range> lost;
  for (std::uint32_t i = 0; i <= native::kMaxLost; ++i) lost.push_back({2 * i, 2 * i});
  wire::FrameDecoder decoder{wire::kMaxLinkFrame};
  decoder.append(native::lost_frames(lost));
  std::vector<wire::ProcessSet::Range> heard;
  std::size_t messages = 0;
  for (auto frame = decoder.next(); frame && frame->has_value(); frame = decoder.next(), ++messages) {
    const auto message = native::decode_from_launcher(**frame);
    REQUIRE(message);
    const auto& ranges = get<native::Lost>(*message).processes;
    heard.insert(heard.end(), ranges.begin(), ranges.end());
  }
  CHECK(messages == 2);
  CHECK(heard == lost);
  wire::FrameDecoder reversed{wire::kMaxLinkFrame};
  reversed.append(native::to_frame(native::Lost{{{3, 2}}}));
  CHECK_FALSE(native::decode_from_launcher(**reversed.next()));
}

}  // namespace charmtree::native_message_test
