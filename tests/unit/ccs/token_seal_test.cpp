// SPDX-License-Identifier: Apache-2.0
#include "ccs/token_seal.hpp"

#include <catch2/catch.hpp>

#include <set>

namespace charmtree::token_seal_test {

using ccs::TokenSeal;

TEST_CASE("each number has a token of its own, which leads back to it", "[ccs]") {
  const TokenSeal seal{{1, 2, 3}};
  std::set<std::uint32_t> tokens;
  for (std::uint32_t number = 0; number < 20'000; ++number) {
    const std::uint32_t token = seal.seal(number);
    REQUIRE(token <= TokenSeal::kMost);
    REQUIRE(seal.open(token) == number);
    tokens.insert(token);
  }
  CHECK(tokens.size() == 20'000);
  for (const std::uint32_t number : {TokenSeal::kMost, TokenSeal::kMost - 1, 1U << 30})
    CHECK(seal.open(seal.seal(number)) == number);
}

TEST_CASE("tokens follow neither from each other nor without the secret", "[ccs]") {
  const TokenSeal seal{{1, 2, 3}}, other{{1, 2, 4}};
  int near = 0, same = 0, hits = 0;
  for (std::uint32_t number = 1; number < 10'000; ++number) {
    const std::uint32_t token = seal.seal(number), next = seal.seal(number + 1);
    near += (token > next ? token - next : next - token) < 1000 ? 1 : 0;
    same += other.seal(number) == token ? 1 : 0;
    hits += seal.open(number) < 10'000 ? 1 : 0;  // of guesses, one after the other
  }
  CHECK(near < 10);
  CHECK(same < 3);
  CHECK(hits < 3);
}

}  // namespace charmtree::token_seal_test
