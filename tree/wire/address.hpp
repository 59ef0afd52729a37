// SPDX-License-Identifier: Apache-2.0
// The address by which hosts know each other: IPv4 or IPv6.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace charmtree::wire {

/// As IPv6 has them all: its 16 bytes as two numbers, an IPv4 address as ::ffff:a.b.c.d. All zero: none is
/// known.
struct Address {
  std::uint64_t high = 0, low = 0;

  constexpr Address() = default;
  /// In host byte order; 0, which is no host: none.
  constexpr Address(std::uint32_t ipv4) : low(ipv4 == 0 ? 0 : kMapped << 32 | ipv4) {}
  /// From 16 bytes in network byte order.
  static Address of_bytes(const unsigned char* bytes);

  constexpr bool is_known() const { return high != 0 || low != 0; }
  constexpr bool is_ipv4() const { return high == 0 && low >> 32 == kMapped; }
  /// In host byte order; 0: it is none.
  constexpr std::uint32_t ipv4() const { return is_ipv4() ? static_cast<std::uint32_t>(low) : 0; }
  /// Of this machine alone, in either family.
  constexpr bool is_loopback() const { return is_ipv4() ? ipv4() >> 24 == 127 : high == 0 && low == 1; }
  /// Means something on one link alone, where it does not say on which: fe80::/10, 169.254.0.0/16.
  constexpr bool is_link_local() const { return is_ipv4() ? ipv4() >> 16 == 0xA9FE : high >> 54 == 0x3FA; }
  /// In network byte order.
  void to_bytes(unsigned char* bytes) const;

  friend constexpr bool operator==(const Address&, const Address&) = default;
  friend constexpr auto operator<=>(const Address&, const Address&) = default;

private:
  static constexpr std::uint64_t kMapped = 0xFFFF;
};

/// As people write it: "192.0.2.1", "2001:db8::1"; "0.0.0.0": none.
std::string text_of(const Address& address);

/// Of what people write, without brackets or a zone.
std::optional<Address> parse_address(const std::string& text);

/// The addresses that begin with the same bits.
struct Subnet {
  Address first;
  unsigned bits = 0;  // of 128: those of IPv4 have 96 in front of their own

  bool has(const Address& address) const;
};

/// "10.1.0.0/16", "2001:db8::/32"; bits of the address behind those of the network do not count.
std::optional<Subnet> parse_subnet(const std::string& text);

}  // namespace charmtree::wire
