// SPDX-License-Identifier: Apache-2.0
// What processes have given, as those of a host share it.
#include "tree/wire/shared_values.hpp"

#include <catch2/catch.hpp>

#include "tree/base/random.hpp"

namespace charmtree::shared_values_test {

using namespace charmtree::wire;

namespace {

std::string all(int count) {
  std::string pairs;
  for (int i = 0; i < count; ++i) pairs += pair_of("key " + std::to_string(i), std::to_string(i * i));
  return pairs;
}

}  // namespace

TEST_CASE("each key of many is found with its value, and no other", "[values]") {
  const int count = GENERATE(0, 1, 2, 3, 1000);
  const std::string bytes = shared_pairs(all(count)).value();
  const auto values = SharedValues::in(bytes);
  REQUIRE(values);
  for (int i = 0; i < count; ++i) CHECK(values->find("key " + std::to_string(i)) == std::to_string(i * i));
  CHECK_FALSE(values->find("key"));
  CHECK_FALSE(values->find("key " + std::to_string(count)));
  CHECK_FALSE(values->find(""));
}

TEST_CASE("of values with one key the last counts; keys and values are any bytes", "[values]") {
  const std::string odd("\0\xFF", 2);
  const std::string bytes =
      shared_pairs(pair_of("a", "1") + pair_of(odd, odd) + pair_of("a", "") + pair_of(key_of(258), "x"))
          .value();
  const auto values = SharedValues::in(bytes);
  REQUIRE(values);
  CHECK(values->find("a") == "");
  CHECK(values->find(odd) == odd);
  CHECK(values->find(std::string_view{"\0\0\1\2", 4}) == "x");
}

TEST_CASE("of pairs only the last of each key is kept", "[values]") {
  const std::string twice = pair_of("a", "1") + pair_of("b", "2") + pair_of("a", "3");
  CHECK(latest_pairs(twice) == pair_of("b", "2") + pair_of("a", "3"));
  CHECK(latest_pairs(all(3)) == all(3));
  CHECK(latest_pairs("").empty());
  CHECK(latest_pairs("none") == "none");
}

TEST_CASE("what are no pairs is refused", "[values]") {
  CHECK(are_pairs(""));
  CHECK(are_pairs(pair_of(std::string(kMostKeyBytes, 'k'), std::string(70'000, 'v'))));
  CHECK_FALSE(are_pairs(pair_of("", "v")));
  CHECK_FALSE(are_pairs(pair_of(std::string(kMostKeyBytes + 1, 'k'), "v")));
  const std::string pair = pair_of("key", "value");
  for (std::size_t size = 1; size < pair.size(); ++size) CHECK_FALSE(are_pairs(pair.substr(0, size)));
  CHECK_FALSE(shared_pairs(pair + "x"));
}

TEST_CASE("of shared values that are damaged nothing outside of them is read", "[values]") {
  const std::string whole = shared_pairs(all(20)).value();
  const auto look = [](const std::string& bytes) {
    const auto values = SharedValues::in(bytes);
    for (int i = 0; values && i < 21; ++i) {
      const auto found = values->find("key " + std::to_string(i));
      if (!found || found->empty()) continue;
      CHECK(found->data() >= bytes.data());
      CHECK(found->data() + found->size() <= bytes.data() + bytes.size());
    }
  };
  for (std::size_t size = 0; size < whole.size(); ++size) look(whole.substr(0, size));
  Random chance{1};
  for (int round = 0; round < 5'000; ++round) {
    std::string bytes = whole;
    for (int i = 0; i < 3; ++i) bytes[chance.below(bytes.size())] = static_cast<char>(chance.next());
    look(bytes);
  }
}

}  // namespace charmtree::shared_values_test
