// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/ccs_replies.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

namespace charmtree::ccs_replies_test {

using wire::CcsMerge;
using wire::CcsReplies;

namespace {

template <class N>
std::string bytes(std::initializer_list<N> numbers) {
  std::string text;
  for (const N number : numbers) text.append(reinterpret_cast<const char*>(&number), sizeof number);
  return text;
}

CcsReplies of(std::uint32_t process, std::string text, CcsMerge merge = {}) {
  return {merge, {{process, std::move(text)}}};
}

/// Of processes 3 and 1, which reply `a` and `b`.
std::string both(CcsMerge merge, const std::string& a, const std::string& b) {
  CcsReplies replies = of(3, a, merge);
  const std::string wrong = replies.add(of(1, b, merge));
  return wrong.empty() ? std::move(replies).whole() : wrong;
}

}  // namespace

TEST_CASE("replies are strung together by process, wherever they meet", "[ccs]") {
  CcsReplies left = of(2, "c"), right = of(0, "a");
  CHECK(left.add(of(3, "")).empty());
  CHECK(right.add(of(5, "f")).empty());
  CHECK(left.add(std::move(right)).empty());
  CHECK(left.add(of(1, "b")).empty());
  CHECK(left.parts.size() == 5);
  CHECK(std::move(left).whole() == "abcf");
}

TEST_CASE("numbers are merged element by element", "[ccs]") {
  using L = std::numeric_limits<std::int32_t>;
  const CcsMerge sum32{CcsMerge::sum, CcsMerge::int32};
  CHECK(both(sum32, bytes<std::int32_t>({1, -5}), bytes<std::int32_t>({2, 3})) ==
        bytes<std::int32_t>({3, -2}));
  CHECK(both(sum32, bytes({L::max()}), bytes<std::int32_t>({1})) == bytes({L::min()}));
  CHECK(both({CcsMerge::min, CcsMerge::int64}, bytes<std::int64_t>({1LL << 40, -1}),
             bytes<std::int64_t>({1LL << 41, -2})) == bytes<std::int64_t>({1LL << 40, -2}));
  CHECK(both({CcsMerge::max, CcsMerge::float64}, bytes({0.5, std::nan("")}), bytes({-0.5, 7.0})) ==
        bytes({0.5, 7.0}));
  CHECK(both({CcsMerge::sum, CcsMerge::float64}, bytes({0.5}), bytes({0.25})) == bytes({0.75}));
  CHECK(both(sum32, "", "").empty());
}

TEST_CASE("replies that do not fit say whose they are", "[ccs]") {
  const CcsMerge sum{CcsMerge::sum, CcsMerge::int64};
  CHECK(both(sum, bytes<std::int64_t>({1}), bytes<std::int64_t>({1, 2})) ==
        "the replies of processes 3 and 1 have 8 and 16 bytes: no arrays of one length");
  CHECK(both(sum, "abc", "def") ==
        "the replies of processes 3 and 1 have 3 and 3 bytes: no arrays of one length");
  CcsReplies replies = of(3, "", sum);
  CHECK(replies.add(of(1, "", CcsMerge{})) == "processes 3 and 1 merge the replies in different ways");
  CcsReplies large = of(0, std::string(CcsReplies::kMaxBytes, 'x'));
  CHECK(large.add(of(1, "x")) == "the replies have more than 67108864 bytes together");
}

TEST_CASE("replies survive coding, and what is none is refused", "[ccs]") {
  CcsReplies replies = of(7, "seven");
  CHECK(replies.add(of(300, std::string(1000, 'x'))).empty());
  const std::string coded = wire::encode(replies);
  REQUIRE(wire::decode_ccs_replies(coded));
  CHECK(*wire::decode_ccs_replies(coded) == replies);
  for (std::size_t size = 0; size < coded.size(); size += 7)
    CHECK_FALSE(wire::decode_ccs_replies(coded.substr(0, size)));
  CHECK_FALSE(wire::decode_ccs_replies(coded + "x"));
  CHECK_FALSE(wire::decode_ccs_replies(wire::encode(CcsReplies{})));
  CHECK_FALSE(wire::decode_ccs_replies(wire::encode(CcsReplies{{}, {{2, "b"}, {1, "a"}}})));
  CHECK_FALSE(wire::decode_ccs_replies(wire::encode(of(1, "", CcsMerge{CcsMerge::sum}))));
  const CcsMerge sum{CcsMerge::sum, CcsMerge::int64};
  CHECK_FALSE(wire::decode_ccs_replies(wire::encode(CcsReplies{sum, {{1, "a"}, {2, "b"}}})));
}

TEST_CASE("a merge is an operation and, but for concat, the numbers that it takes", "[ccs]") {
  int known = 0;
  for (int code = 0; code < 256; ++code) known += CcsMerge{code}.is_known() ? 1 : 0;
  CHECK(known == 1 + 3 * 3);
  CHECK(CcsMerge{}.is_known());
  CHECK_FALSE(CcsMerge{CcsMerge::int32}.is_known());
}

}  // namespace charmtree::ccs_replies_test
