// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/charm_message.hpp"

#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "tests/unit/charm_capture.hpp"
#include "tree/base/random.hpp"

namespace charmtree::charm_message_test {

using namespace charmtree::wire;
using namespace charm_capture;

namespace {

using Seen = std::vector<std::pair<CharmType, std::string>>;

/// Cuts `stream` into pieces of random size and returns all messages; the last error, if any, in `error`.
Seen cut(std::string_view stream, Random& random, std::uint64_t largest, Error* error = nullptr) {
  CharmDecoder decoder;
  Seen seen;
  for (std::size_t at = 0; at < stream.size();) {
    const std::size_t piece = 1 + random.below(largest);
    decoder.append(stream.substr(at, piece));
    at += piece;
    for (;;) {
      const auto message = decoder.next();
      if (!message.ok()) {
        if (error != nullptr) *error = message.error();
        return seen;
      }
      if (!message->has_value()) break;
      seen.emplace_back((*message)->type, std::string{(*message)->payload});
    }
  }
  return seen;
}

Error refusal(std::string_view bytes) {
  CharmDecoder decoder;
  decoder.append(bytes);
  for (;;) {
    const auto message = decoder.next();
    if (!message.ok()) return message.error();
    if (!message->has_value()) return Error{Errc::internal, Phase::run, "not refused"};
  }
}

}  // namespace

TEST_CASE("a captured initnode is understood", "[charm]") {
  CharmDecoder decoder;
  decoder.append(kInitnode0);
  const auto message = decoder.next();
  REQUIRE(message.ok());
  REQUIRE(message->has_value());
  CHECK((*message)->type == CharmType::initnode);

  const CharmInitnode initnode = parse_charm_initnode((*message)->payload);
  CHECK(initnode.number == 0);
  CHECK(initnode.data_port == 0xa4b9);
  CHECK(initnode.address == 0xc0000202);
  CHECK(decoder.buffered() == 0);
}

TEST_CASE("the table is byte for byte what charmrun sends", "[charm]") {
  const NodeTable table{0, 1, {{0, 0, 0x7f000001, {{0xa4b9, {}}, {0xbee5, {}}}}}};
  const std::string entries = charm_table_entries(table);
  CHECK(entries == kTableEntries);
  CHECK(charm_table_head(2, 0) + entries == kTable0);
  CHECK(charm_table_head(2, 1) + entries == kTable1);
}

TEST_CASE("each host has its own process count and address in the table", "[charm]") {
  const NodeTable table{
      0, 4, {{0, 0, 0x0a000001, {{1, {}}, {2, {}}, {3, {}}}}, {7, 3, 0x0a000002, {{4, {}}}}}};
  CHECK(charm_table_entries(table) == hex("00000000 00000003 00000004 00000001 00000000 0a000001"
                                          "00000001 00000003 00000004 00000002 00000000 0a000001"
                                          "00000002 00000003 00000004 00000003 00000000 0a000001"
                                          "00000003 00000001 00000004 00000004 00000000 0a000002"));
}

TEST_CASE("a host that is alone and has no IPv4 address is in the table by loopback", "[charm]") {
  const NodeTable table{0, 1, {{0, 0, *parse_address("2001:db8::1"), {{0xa4b9, {}}, {0xbee5, {}}}}}};
  CHECK(charm_table_entries(table) == kTableEntries);
}

TEST_CASE("messages survive any cut of the stream", "[charm]") {
  const std::string text(16'384, 'x');
  const std::string stream =
      kInitnode0 + make_charm_message("ping") + make_charm_message("print", text) +
      make_charm_message("printerrsyn", std::string{"a\0b\0", 4}) + make_charm_message("barrier") +
      make_charm_message("barrier0", std::string{"1\0", 2}) + make_charm_message("ending", "0");
  const Seen expected{{CharmType::initnode, kInitnode0.substr(16)},
                      {CharmType::ping, ""},
                      {CharmType::print, text},
                      {CharmType::printerrsyn, std::string{"a\0b\0", 4}},
                      {CharmType::barrier, ""},
                      {CharmType::barrier0, std::string{"1\0", 2}},
                      {CharmType::ending, "0"}};
  Random random{1};
  for (const std::uint64_t largest : {1, 2, 17, 100, 5000, 100'000})
    CHECK(cut(stream, random, largest) == expected);
}

TEST_CASE("a header is made as the protocol wants it", "[charm]") {
  CHECK(make_charm_message("barrier") == header("00000000", "barrier"));
  CHECK(make_charm_message("initnodetab", "xy") == header("00000002", "initnodetab") + "xy");
}

TEST_CASE("a client of Charm++ 6.8 is recognised", "[charm]") {
  Random random{1};
  const std::string payload = hex("00000003 00000001 0000a4b9 00000000 00000000 c0000202");
  const Seen seen = cut(header("00000018", "initnode") + payload, random, 5);
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].first == CharmType::old_initnode);
  CHECK(parse_old_charm_initnode(seen[0].second) == 3);
}

TEST_CASE("what does not begin with initnode is refused as soon as its header is there", "[charm]") {
  CHECK(refusal("GET / HTTP/1.1\r\nHost: x\r\n\r\n").code == Errc::bad_peer);
  CHECK(refusal(std::string(16, '\xFF')).code == Errc::bad_peer);
  CHECK(refusal(header("ffffffff", "initnode")).code == Errc::bad_peer);
  CHECK(refusal(header("00000029", "initnode")).code == Errc::bad_peer);
  CHECK(refusal(header("00000028", "initnodetab")).code == Errc::bad_peer);
  CHECK(refusal(header("00000000", "barrier")).code == Errc::bad_peer);
  CHECK(refusal(header("00000028", "initnode").substr(0, 15)).code == Errc::internal);
}

TEST_CASE("after initnode each type has its limit and unknown types are named", "[charm]") {
  const auto after = [](const std::string& next) { return refusal(kInitnode1 + next); };

  CHECK(after(header("00100000", "print")).what == "not refused");
  CHECK(after(header("00100001", "print")).what == "sent a `print` of 1048577 bytes; the limit is 1048576");
  CHECK(after(header("10000000", "reply_fw")).what == "not refused");
  CHECK(after(header("10000001", "reply_fw")).code == Errc::bad_peer);
  CHECK(after(header("00000101", "barrier")).code == Errc::bad_peer);
  CHECK(after(kInitnode1).what == "sent `initnode` twice");
  CHECK(after(header("00000000", "qpfoo")).what == "sent a message of unknown type `qpfoo`");
  CHECK(after(header("00000000", "\x1b[31m\xff")).what == "sent a message of unknown type `?[31m?`");
}

TEST_CASE("an error repeats and nothing comes after it", "[charm]") {
  CharmDecoder decoder;
  decoder.append("not a Charm++ program at all");
  CHECK_FALSE(decoder.next().ok());
  decoder.append(kInitnode0);
  CHECK_FALSE(decoder.next().ok());
}

TEST_CASE("the code of an ending is a number or 0", "[charm]") {
  CHECK(parse_charm_ending("") == 0);
  CHECK(parse_charm_ending(std::string_view{"0\0", 2}) == 0);
  CHECK(parse_charm_ending(std::string_view{"42\0", 3}) == 42);
  CHECK(parse_charm_ending("-1") == -1);
  CHECK(parse_charm_ending("seven") == 0);
  CHECK(parse_charm_ending("99999999999999999999") == 0);
}

}  // namespace charmtree::charm_message_test
