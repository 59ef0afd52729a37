// SPDX-License-Identifier: Apache-2.0
#include "tree/job/process_places.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/four_hosts.hpp"

namespace charmtree::process_places_test {

using namespace charmtree::proto;
using Processes = std::vector<std::uint32_t>;

TEST_CASE("a process is where the list of hosts has it, until it is moved", "[process_places]") {
  const std::vector<Host> hosts = test::four_hosts();
  ProcessPlaces places{hosts};
  CHECK(places.host_of(5).name == "n3");
  CHECK(places.host_of(99).name == "n4");  // nobody knows it: some host has to be named
  places.move({0, 5, 1});
  CHECK(places.host_of(5).name == "n1");
  CHECK(places.host_of(4).name == "n3");
  CHECK(places.unfinished_on(0) == Processes{0, 1, 5});
  CHECK(places.unfinished_on(2) == Processes{4});
  places.move({3, 5, 1});  // that host was lost, too
  CHECK(places.unfinished_on(0) == Processes{0, 1});
  CHECK(places.unfinished_on(3) == Processes{5, 6, 7});
  CHECK(places.moved().host_of(5) == 3U);
}

TEST_CASE("those that processes have had started are where they were placed", "[process_places]") {
  const std::vector<Host> hosts = test::four_hosts();
  ProcessPlaces places{hosts};
  places.begin({1, 8, 2});
  places.begin({3, 10, 1});
  CHECK(places.host_of(7).name == "n4");
  CHECK(places.host_of(9).name == "n2");
  CHECK(places.host_of(10).name == "n4");
  CHECK(places.unfinished_on(1) == Processes{2, 3, 8, 9});
  CHECK(places.moved() == wire::MovedProcesses{});
}

TEST_CASE("whoever has ended as it should is not missed where its host is lost", "[process_places]") {
  const std::vector<Host> hosts = test::four_hosts();
  ProcessPlaces places{hosts};
  places.move({0, 5, 1});
  CHECK_FALSE(places.any_finished_on(0));
  places.finished({1, 5});
  CHECK(places.any_finished_on(0));
  CHECK(places.unfinished_on(0) == Processes{0});
  CHECK(places.unfinished_on(1).empty());
  CHECK_FALSE(places.any_finished_on(3));
}

TEST_CASE("what is said of a process begins with its host and its phase", "[process_places]") {
  const std::vector<Host> hosts = test::four_hosts();
  const ProcessPlaces places{hosts};
  CHECK(places.about(3, Phase::run, "killed") == "n2: run: process 3: killed");
}

}  // namespace charmtree::process_places_test
