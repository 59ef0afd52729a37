// SPDX-License-Identifier: Apache-2.0
#include "ccs/token_seal.hpp"

#include <bit>
#include <cstring>
#include <string>

namespace charmtree::ccs {

namespace {

/// SipHash-1-3 of one word: what a round needs is a keyed function that nobody can foresee.
std::uint64_t sip_hash(const std::array<std::uint64_t, 2>& key, std::uint64_t word) {
  std::uint64_t a = key[0] ^ 0x736F6D6570736575U, b = key[1] ^ 0x646F72616E646F6DU;
  std::uint64_t c = key[0] ^ 0x6C7967656E657261U, d = key[1] ^ 0x7465646279746573U;
  const auto rounds = [&](int count) {
    for (int i = 0; i < count; ++i) {
      a += b, b = std::rotl(b, 13) ^ a, a = std::rotl(a, 32);
      c += d, d = std::rotl(d, 16) ^ c;
      a += d, d = std::rotl(d, 21) ^ a;
      c += b, b = std::rotl(b, 17) ^ c, c = std::rotl(c, 32);
    }
  };
  const auto take = [&](std::uint64_t block) {
    d ^= block;
    rounds(1);
    a ^= block;
  };
  take(word);
  take(std::uint64_t{sizeof word} << 56);
  c ^= 0xFF;
  rounds(3);
  return a ^ b ^ c ^ d;
}

}  // namespace

TokenSeal::TokenSeal(const Guard::Secret& secret) {
  const std::string hash =
      keyed_hash({reinterpret_cast<const char*>(secret.data()), secret.size()}, "tokens");
  std::memcpy(key_.data(), hash.data(), sizeof key_);
}

/// The upper 15 bits and the lower 16 change in turns, each by what the others are: no number leaves the 31.
std::uint32_t TokenSeal::with_round(unsigned round, std::uint32_t number) const {
  constexpr std::uint32_t kLower = UINT16_MAX;
  const bool changes_upper = round % 2 != 0;
  const std::uint32_t others = changes_upper ? number & kLower : number >> 16;
  const auto mixed = static_cast<std::uint32_t>(sip_hash(key_, std::uint64_t{round} << 16 | others));
  return number ^ (changes_upper ? mixed << 16 & kMost : mixed & kLower);
}

std::uint32_t TokenSeal::seal(std::uint32_t number) const {
  for (unsigned round = 0; round < kRounds; ++round) number = with_round(round, number);
  return number;
}

std::uint32_t TokenSeal::open(std::uint32_t token) const {
  for (unsigned round = kRounds; round-- > 0;) token = with_round(round, token);
  return token;
}

}  // namespace charmtree::ccs
