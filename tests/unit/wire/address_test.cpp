// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/address.hpp"

#include <array>
#include <catch2/catch.hpp>

namespace charmtree::address_test {

using wire::Address;
using wire::parse_address;
using wire::text_of;

TEST_CASE("an address is read and written as people do it", "[address]") {
  for (const char* text : {"192.0.2.1", "127.0.0.1", "::1", "2001:db8::1", "fe80::1:2:3:4"}) {
    const auto address = parse_address(text);
    REQUIRE(address);
    CHECK(text_of(*address) == text);
  }
  for (const char* text : {"", "h01", "192.0.2", "192.0.2.256", "2001:db8::1%eth0", "[::1]", "1:2:3"})
    CHECK_FALSE(parse_address(text));
}

TEST_CASE("an IPv4 address is the same in either spelling", "[address]") {
  CHECK(parse_address("::ffff:192.0.2.1") == Address{0xC0000201});
  CHECK(Address{0xC0000201}.ipv4() == 0xC0000201);
  CHECK(parse_address("192.0.2.1")->is_ipv4());
  CHECK_FALSE(parse_address("2001:db8::1")->is_ipv4());
  CHECK(parse_address("2001:db8::1")->ipv4() == 0);
  CHECK_FALSE(Address{}.is_known());
  CHECK_FALSE(Address{0}.is_known());
  CHECK_FALSE(parse_address("0.0.0.0")->is_ipv4());
}

TEST_CASE("loopback is told in both families", "[address]") {
  for (const char* text : {"127.0.0.1", "127.255.0.9", "::1", "::ffff:127.0.0.1"})
    CHECK(parse_address(text)->is_loopback());
  for (const char* text : {"128.0.0.1", "::2", "2001:db8::1"})
    CHECK_FALSE(parse_address(text)->is_loopback());
}

TEST_CASE("an address of one link is told in both families", "[address]") {
  for (const char* text : {"169.254.3.4", "fe80::1", "febf::1"}) CHECK(parse_address(text)->is_link_local());
  for (const char* text : {"169.253.3.4", "fec0::1", "2001:db8::1", "10.0.0.1"})
    CHECK_FALSE(parse_address(text)->is_link_local());
}

TEST_CASE("a network has the addresses that begin as it does", "[address]") {
  const auto has = [](const char* network, const char* address) {
    return wire::parse_subnet(network)->has(*parse_address(address));
  };
  CHECK(has("10.7.0.9/24", "10.7.0.1"));
  CHECK_FALSE(has("10.7.0.9/24", "10.7.1.1"));
  CHECK(has("10.7.0.0/9", "10.127.255.255"));
  CHECK_FALSE(has("10.7.0.0/9", "10.128.0.0"));
  CHECK(has("192.0.2.1/32", "192.0.2.1"));
  CHECK_FALSE(has("192.0.2.1/32", "192.0.2.2"));
  CHECK_FALSE(has("192.0.2.1/0", "2001:db8::1"));
  CHECK(has("0.0.0.0/0", "192.0.2.1"));
  CHECK_FALSE(has("0.0.0.0/1", "192.0.2.1"));
  CHECK_FALSE(has("0.0.0.0/0", "2001:db8::1"));
  CHECK(has("::/0", "192.0.2.1"));
  CHECK(has("2001:db8::/32", "2001:db8:ffff::1"));
  CHECK_FALSE(has("2001:db8::/32", "2001:db9::1"));
  CHECK(has("2001:db8::/96", "2001:db8::ffff:ffff"));
  CHECK_FALSE(has("2001:db8::/96", "2001:db8::1:0:0"));
  for (const char* text : {"", "10.7.0.0", "10.7.0.0/", "10.7.0.0/33", "0.0.0.0/33", "2001:db8::/129",
                           "10.7.0.0/-1", "10.7.0.0/a", "eth0/8"})
    CHECK_FALSE(wire::parse_subnet(text));
}

TEST_CASE("an address's bytes are those of the network", "[address]") {
  std::array<unsigned char, 16> bytes{};
  parse_address("2001:db8::1")->to_bytes(bytes.data());
  CHECK(bytes == std::array<unsigned char, 16>{0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
  CHECK(Address::of_bytes(bytes.data()) == parse_address("2001:db8::1"));
}

}  // namespace charmtree::address_test
