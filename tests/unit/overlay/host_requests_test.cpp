// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/host_requests.hpp"

#include <catch2/catch.hpp>

namespace charmtree::host_requests_test {

using namespace charmtree::proto;

TEST_CASE("requests for hosts are served in the order in which they came", "[host_requests]") {
  HostRequests requests;
  CHECK_FALSE(requests.first());
  requests.add(5, 3);
  requests.add(2, 0);
  requests.add(5, 7);  // keeps its place
  requests.add(2, 0);
  REQUIRE(requests.first());
  CHECK(requests.first()->link == 5);
  CHECK(requests.first()->hosts == 7);
  requests.served();
  REQUIRE(requests.first());
  CHECK(requests.first()->link == 2);
  CHECK(requests.first()->hosts == 1);  // whoever asks wants one
  requests.served();
  CHECK_FALSE(requests.first());
}

TEST_CASE("an older request is not made smaller by a newer one, and all can be forgotten",
          "[host_requests]") {
  HostRequests requests;
  requests.add(5, 7);
  requests.add(5, 3);
  CHECK(requests.first()->hosts == 7);
  requests.clear();
  CHECK_FALSE(requests.first());
}

TEST_CASE("a launcher asks once it has had hosts, one question at a time", "[host_requests]") {
  OwnRequests own;
  CHECK_FALSE(own.may_ask());
  own.answered(false);
  CHECK_FALSE(own.may_ask());
  own.answered(true);
  CHECK(own.may_ask());
  CHECK(own.ask() == 1);
  CHECK_FALSE(own.may_ask());
  SECTION("until there is an answer, whatever it is") {
    own.answered(false);
  }
  SECTION("or another run begins") {
    own.begin_run();
  }
  CHECK(own.may_ask());
}

TEST_CASE("a launcher asks for twice as many hosts each time, up to a limit", "[host_requests]") {
  OwnRequests own;
  for (std::uint32_t expected = 1; expected < OwnRequests::kMost; expected *= 2) {
    own.answered(true);
    CHECK(own.ask() == expected);
  }
  for (int i = 0; i < 3; ++i) {
    own.answered(true);
    CHECK(own.ask() == OwnRequests::kMost);
  }
}

}  // namespace charmtree::host_requests_test
