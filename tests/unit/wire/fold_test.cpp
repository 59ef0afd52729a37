// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/fold.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

namespace charmtree::fold_test {

using charmtree::wire::fold_names;
using charmtree::wire::fold_numbers;

TEST_CASE("names with the same text around one number are folded", "[fold]") {
  CHECK(fold_names({"h01", "h02", "h03", "h07"}) == "h[01-03,07]");
  CHECK(fold_names({"h3", "h1", "h2", "h2"}) == "h[1-3]");
  CHECK(fold_names({"n9", "n10", "n11"}) == "n9, n[10-11]");
  CHECK(fold_names({"a1.cluster", "b1.cluster", "a2.cluster"}) == "a[1-2].cluster, b1.cluster");
  CHECK(fold_names({"rack1-n07", "rack1-n08", "rack2-n07"}) == "rack1-n[07-08], rack2-n07");
  CHECK(fold_names({"h0", "h4294967295", "h999999999"}) == "h0, h4294967295, h999999999");
}

TEST_CASE("names without a number of their own stay as they are", "[fold]") {
  CHECK(fold_names({}) == "");
  CHECK(fold_names({"login"}) == "login");
  CHECK(fold_names({"login", "login", "data"}) == "login, data");
  CHECK(fold_names({"10.0.0.1", "10.0.0.2"}) == "10.0.0.1, 10.0.0.2");
  CHECK(fold_names({"h1234567890123", "h1234567890124"}) == "h1234567890123, h1234567890124");
}

TEST_CASE("long lists are cut off with a count", "[fold]") {
  std::vector<std::string> names;
  for (char c = 'a'; c <= 't'; ++c) names.emplace_back(1, c);
  CHECK(fold_names(names, 3) == "a, b, c and 17 more");
  CHECK(fold_names({"a1", "a2", "b", "c"}, 2) == "a[1-2], b and 1 more");
  CHECK(fold_names({"a", "b"}, 2) == "a, b");
  std::vector<std::string> many;
  for (int i = 0; i < 100'000; ++i) many.push_back(fmt::format("n{:05}", i));
  CHECK(fold_names(many) == "n[00000-99999]");
}

TEST_CASE("process numbers", "[fold]") {
  CHECK(fold_numbers({3}) == "process 3");
  CHECK(fold_numbers({7, 0, 1, 2, 3}) == "processes 0-3,7");
}

}  // namespace charmtree::fold_test
