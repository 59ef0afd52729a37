// SPDX-License-Identifier: Apache-2.0
#include "health/relocation.hpp"

#include <catch2/catch.hpp>

namespace charmtree::relocation_test {

using namespace charmtree::proto;

namespace {

constexpr Instant kNow{10s};
using Groups = std::vector<std::vector<std::uint32_t>>;
using Shares = std::vector<wire::Share>;

}  // namespace

TEST_CASE("processes of a lost host wait until it is fenced, or the bound has passed", "[relocation]") {
  Relocation relocation{10s};
  relocation.lost(3, {6, 7}, kNow);
  relocation.lost(4, {8}, kNow + 1s);
  relocation.lost(5, {}, kNow);
  CHECK(relocation.take(kNow + 1s).empty());
  CHECK(relocation.next_deadline() == kNow + 10s);
  relocation.fenced(4);
  relocation.fenced(9);
  CHECK(relocation.take(kNow + 1s) == Groups{{8}});
  CHECK(relocation.take(kNow + 9s).empty());
  CHECK(relocation.take(kNow + 10s) == Groups{{6, 7}});
  CHECK(relocation.next_deadline() == kNever);
}

TEST_CASE("where no time is a proof, the fence is awaited, but not for ever", "[relocation]") {
  Relocation relocation{10s};
  relocation.lost(3, {6, 7}, kNow, false);
  relocation.lost(4, {8}, kNow, false);
  relocation.fenced(4);
  CHECK(relocation.take(kNow) == Groups{{8}});
  CHECK_FALSE(relocation.take_hopeless(kNow + 9s));
  CHECK(relocation.take(kNow + 10s).empty());
  CHECK(relocation.take_hopeless(kNow + 10s) == 6U);
  CHECK(relocation.next_deadline() == kNever);
}

TEST_CASE("who does not want to wait does not", "[relocation]") {
  Relocation relocation{0s};
  relocation.lost(3, {6}, kNow);
  CHECK(relocation.take(kNow) == Groups{{6}});
}

TEST_CASE("all processes of a host go to an idle one, or each to that with the fewest", "[relocation]") {
  std::vector<Shelter> hosts{{0, 2}, {1, 1}, {4, 0}, {5, 0}};
  CHECK(shelter({6, 7, 9}, hosts) == Shares{{4, 6, 2}, {4, 9, 1}});
  CHECK(shelter({10}, hosts) == Shares{{5, 10, 1}});
  CHECK(shelter({11, 12, 13, 14}, hosts) == Shares{{1, 11, 1}, {5, 12, 1}, {0, 13, 1}, {1, 14, 1}});
  CHECK(hosts[1].processes == 3);
}

}  // namespace charmtree::relocation_test
