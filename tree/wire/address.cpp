// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/address.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "tree/wire/ipv4.hpp"
#include "tree/wire/words.hpp"

namespace charmtree::wire {

namespace {

constexpr int kHalf = 8;  // bytes
constexpr unsigned kHalfBits = 64, kIpv4Bits = 32;
constexpr std::uint64_t kMappedLow = std::uint64_t{0xFFFF} << kIpv4Bits;
using Bytes = std::array<unsigned char, 16>;

}  // namespace

Address Address::of_bytes(const unsigned char* bytes) {
  Address address;
  for (int i = 0; i < kHalf; ++i) {
    address.high = address.high << 8 | bytes[i];
    address.low = address.low << 8 | bytes[kHalf + i];
  }
  return address;
}

void Address::to_bytes(unsigned char* bytes) const {
  for (int i = 0; i < kHalf; ++i) {
    const int shift = 8 * (kHalf - 1 - i);
    bytes[i] = static_cast<unsigned char>(high >> shift);
    bytes[kHalf + i] = static_cast<unsigned char>(low >> shift);
  }
}

std::string text_of(const Address& address) {
  if (!address.is_known() || address.is_ipv4()) return dotted(address.ipv4());
  Bytes bytes{};
  address.to_bytes(bytes.data());
  std::array<char, INET6_ADDRSTRLEN> text{};
  return ::inet_ntop(AF_INET6, bytes.data(), text.data(), text.size()) == nullptr ? std::string{}
                                                                                  : text.data();
}

std::optional<Address> parse_address(const std::string& text) {
  Bytes bytes{};
  if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) return Address::of_bytes(bytes.data());
  if (::inet_pton(AF_INET, text.c_str(), bytes.data()) != 1) return std::nullopt;
  return Address{std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
                 std::uint32_t{bytes[2]} << 8 | bytes[3]};
}

bool Subnet::has(const Address& address) const {
  const auto differ = [](std::uint64_t one, std::uint64_t other, unsigned leading) {
    return leading > 0 && (one ^ other) >> (kHalfBits - leading) != 0;
  };
  return !differ(first.high, address.high, std::min(bits, kHalfBits)) &&
         !differ(first.low, address.low, bits > kHalfBits ? bits - kHalfBits : 0);
}

std::optional<Subnet> parse_subnet(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return std::nullopt;
  const auto first = parse_address(text.substr(0, slash));
  const bool is_ipv4 = text.find(':') == std::string::npos;
  unsigned bits = 0;
  if (!first || !read_whole(std::string_view{text}.substr(slash + 1), bits)) return std::nullopt;
  const unsigned all = 2 * kHalfBits, own = is_ipv4 ? kIpv4Bits : all;
  if (bits > own) return std::nullopt;
  Subnet subnet{*first, bits + all - own};
  if (is_ipv4) subnet.first.low |= kMappedLow;  // which 0.0.0.0, no host's address, has not
  return subnet;
}

}  // namespace charmtree::wire
