// SPDX-License-Identifier: Apache-2.0
#include "client-lib/ibverbs/numbers.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <string>

#include "tree/base/random.hpp"

namespace charmtree::numbers_test {

using ibverbs::kMostNumber;
using ibverbs::Numbers;
using Range = Numbers::Range;

namespace {

std::string coded(const Numbers& numbers) {
  wire::Writer out;
  numbers.encode(out);
  return out.take();
}

std::optional<Numbers> decoded(std::string_view bytes, std::uint32_t count) {
  wire::Reader in{bytes};
  Numbers numbers = Numbers::decode(in, count);
  if (!in.finished()) return {};
  return numbers;
}

/// So many ranges, and of each how many are left out before it, and how many follow its first.
std::string bytes_of(const std::vector<std::uint64_t>& words) {
  wire::Writer out;
  for (const std::uint64_t word : words) out.varint(word);
  return out.take();
}

}  // namespace

TEST_CASE("queue pairs made one after the other are one range", "[ibverbs]") {
  const auto numbers = Numbers::of({17, 18, 19, 20});
  CHECK(numbers.value().ranges() == std::vector<Range>{{17, 20}});
  CHECK(coded(*numbers).size() == 3);
}

TEST_CASE("numbers with holes, reversed, and by themselves", "[ibverbs]") {
  CHECK(Numbers::of({10, 11, 15, 16, 12}).value().ranges() == std::vector<Range>{{10, 12}, {15, 16}});
  CHECK(Numbers::of({9, 8, 7}).value().ranges() == std::vector<Range>{{7, 9}});
  CHECK(Numbers::of({4, 8, 6}).value().ranges() == std::vector<Range>{{4, 4}, {6, 6}, {8, 8}});
  CHECK(Numbers::of({}).value().ranges().empty());
  CHECK(Numbers::of({0, kMostNumber}).value().ranges() ==
        std::vector<Range>{{0, 0}, {kMostNumber, kMostNumber}});
}

TEST_CASE("numbers that no device gives are none", "[ibverbs]") {
  CHECK_FALSE(Numbers::of({5, 6, 5}));
  CHECK_FALSE(Numbers::of({kMostNumber + 1}));
}

TEST_CASE("each other process finds its own number, whoever it is", "[ibverbs]") {
  const auto numbers = Numbers::of({30, 20, 21, 40}).value();  // of process 2 of 5
  CHECK(numbers.number_for(0, 2) == 20);
  CHECK(numbers.number_for(1, 2) == 21);
  CHECK(numbers.number_for(3, 2) == 30);
  CHECK(numbers.number_for(4, 2) == 40);
  CHECK_FALSE(numbers.number_for(5, 2));
}

TEST_CASE("numbers arrive as they were sent", "[ibverbs]") {
  Random chance{3};
  for (int round = 0; round < 200; ++round) {
    std::set<std::uint32_t> each;
    auto next = static_cast<std::uint32_t>(chance.below(kMostNumber - 2000));
    const std::size_t count = chance.below(100), odds = 1 + chance.below(20);
    while (each.size() < count)
      each.insert(next += 1 + (chance.below(odds) == 0 ? static_cast<std::uint32_t>(chance.below(9)) : 0));
    std::vector<std::uint32_t> made{each.begin(), each.end()};
    std::reverse(made.begin(), made.end());
    const auto numbers = Numbers::of(made).value();
    const auto arrived = decoded(coded(numbers), static_cast<std::uint32_t>(count));
    REQUIRE(arrived);
    CHECK(arrived->ranges() == numbers.ranges());
    const auto owner = static_cast<std::uint32_t>(chance.below(count + 1));
    std::vector<std::uint32_t> found;
    for (std::uint32_t rank = 0; rank <= count; ++rank) {
      if (rank != owner) found.push_back(arrived->number_for(rank, owner).value());
    }
    CHECK(found == std::vector<std::uint32_t>{each.begin(), each.end()});
  }
}

TEST_CASE("numbers that are too many, too few, too large or in another form are refused", "[ibverbs]") {
  REQUIRE(decoded(bytes_of({2, 7, 2, 1, 0}), 4));
  CHECK_FALSE(decoded(bytes_of({2, 7, 2, 1, 0}), 3));
  CHECK_FALSE(decoded(bytes_of({2, 7, 2, 1, 0}), 5));
  CHECK_FALSE(decoded(bytes_of({2, 7, 2, 0, 0}), 4));  // two ranges that are one
  CHECK_FALSE(decoded(bytes_of({1, kMostNumber, 1}), 2));
  CHECK_FALSE(decoded(bytes_of({1, 0, kMostNumber + 1}), kMostNumber + 2));
  CHECK_FALSE(decoded(bytes_of({2, 7, 2}), 4));
  CHECK_FALSE(decoded(bytes_of({std::uint64_t{1} << 40}), 4));
  CHECK(decoded(bytes_of({0}), 0));
}

TEST_CASE("a dense job's numbers take a few bytes of each process", "[ibverbs]") {
  std::vector<std::uint32_t> made;
  for (std::uint32_t i = 0; i < 1000; ++i) made.push_back(70'000 + i);
  CHECK(coded(Numbers::of(made).value()).size() <= 8);
}

}  // namespace charmtree::numbers_test
