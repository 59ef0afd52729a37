// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/subtree.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

namespace charmtree::subtree_test {

using namespace charmtree::proto;

namespace {

Host make_host(std::uint32_t index, std::uint32_t first, std::uint32_t processes) {
  Host host;
  host.index = index;
  host.first_process = first;
  host.processes = processes;
  return host;
}

/// Host 3: processes 10-13, host 5: 14-15, host 9: 20-22.
Subtree make_subtree() {
  Subtree subtree;
  subtree.add(make_host(3, 10, 4));
  subtree.add(make_host(5, 14, 2));
  subtree.add(make_host(9, 20, 3));
  return subtree;
}

}  // namespace

TEST_CASE("a process is reached through the link of its host", "[subtree]") {
  Subtree subtree = make_subtree();
  CHECK(subtree.processes() == 9);
  CHECK_FALSE(subtree.route(12));  // not bound
  subtree.bind(3, 1);
  subtree.bind(5, 2);
  subtree.bind(9, 1);
  subtree.bind(77, 1);  // unknown: no effect
  CHECK(subtree.route(10) == LinkId{1});
  CHECK(subtree.route(13) == LinkId{1});
  CHECK(subtree.route(14) == LinkId{2});
  CHECK(subtree.route(22) == LinkId{1});
  for (const std::uint32_t stranger : {0U, 9U, 16U, 19U, 23U, UINT32_MAX})
    CHECK_FALSE(subtree.route(stranger));
  CHECK(subtree.most_processes_of(1) == 7);
  CHECK(subtree.most_processes_of(2) == 2);
  CHECK(subtree.most_processes_of(3) == 0);
}

TEST_CASE("what is lost with a link are the processes of all hosts behind it", "[subtree]") {
  using Ranges = std::vector<wire::ProcessSet::Range>;
  Subtree subtree = make_subtree();
  subtree.bind(3, 1);
  subtree.bind(5, 2);
  subtree.bind(9, 1);
  CHECK(subtree.processes_below(1) == Ranges{{10, 13}, {20, 22}});
  CHECK(subtree.processes_below(2) == Ranges{{14, 15}});
  CHECK(subtree.processes_below(3).empty());
}

TEST_CASE("a child speaks for the hosts that it was given and no others", "[subtree]") {
  Subtree subtree = make_subtree();
  CHECK_FALSE(subtree.owns(1, 3));
  subtree.bind(3, 1);
  subtree.bind(5, 2);
  CHECK(subtree.owns(1, 3));
  CHECK_FALSE(subtree.owns(1, 5));
  CHECK_FALSE(subtree.owns(1, 9));
  CHECK(subtree.owns_process(1, 11));
  CHECK_FALSE(subtree.owns_process(1, 14));
  subtree.bind(3, 2);  // started by somebody else now
  CHECK_FALSE(subtree.owns(1, 3));
  CHECK(subtree.most_processes_of(1) == 0);
  CHECK(subtree.most_processes_of(2) == 6);
}

TEST_CASE("answers and registrations are counted once per host", "[subtree]") {
  Subtree subtree = make_subtree();
  CHECK_FALSE(subtree.all_answered());
  for (const std::uint32_t host : {3U, 3U, 5U, 77U}) subtree.answered(host);
  CHECK_FALSE(subtree.all_answered());
  subtree.answered(9);
  CHECK(subtree.all_answered());
  for (const std::uint32_t host : {3U, 5U, 5U}) subtree.registered(host);
  CHECK_FALSE(subtree.all_registered());
  subtree.registered(9);
  CHECK(subtree.all_registered());
}

TEST_CASE("a host that is handed back counts no more", "[subtree]") {
  Subtree subtree = make_subtree();
  subtree.bind(5, 1);
  subtree.answered(3);
  subtree.registered(3);
  subtree.answered(9);
  subtree.remove(5);
  subtree.remove(5);
  CHECK(subtree.all_answered());
  CHECK_FALSE(subtree.all_registered());
  CHECK(subtree.processes() == 7);
  CHECK(subtree.most_processes_of(1) == 0);
  CHECK_FALSE(subtree.route(14));
  CHECK(subtree.find(5) == nullptr);
}

TEST_CASE("a leaf has nobody to wait for, and a host without processes has nothing to register",
          "[subtree]") {
  Subtree subtree;
  CHECK(subtree.all_answered());
  CHECK(subtree.all_registered());
  subtree.add(make_host(1, 5, 0));
  subtree.bind(1, 1);
  CHECK(subtree.all_registered());
  CHECK_FALSE(subtree.all_answered());
  CHECK_FALSE(subtree.route(5));
}

TEST_CASE("who was started by a host is known with all below", "[subtree]") {
  Subtree subtree;
  for (std::uint32_t host = 1; host <= 6; ++host) {
    subtree.add(make_host(host, host * 2, 2));
    subtree.bind(host, 1);
  }
  for (const wire::StartedBy& told :
       std::vector<wire::StartedBy>{{2, 1}, {3, 2}, {4, 2}, {5, 4}, {6, 1}, {9, 1}})
    subtree.started(told);
  CHECK(subtree.children_of(1) == std::vector<std::uint32_t>{2, 6});
  auto below = subtree.all_below(2);
  std::sort(below.begin(), below.end());
  CHECK(below == std::vector<std::uint32_t>{3, 4, 5});

  SECTION("they move together") {
    subtree.move(2, 7);
    for (const std::uint32_t host : {2U, 3U, 4U, 5U}) CHECK(subtree.owns(7, host));
    CHECK(subtree.owns(1, 6));
    CHECK(subtree.most_processes_of(7) == 8);
    CHECK(subtree.most_processes_of(1) == 4);
  }
  SECTION("an adopted one belongs to its new parent") {
    subtree.started({4, 1});
    CHECK(subtree.all_below(2) == std::vector<std::uint32_t>{3});
  }
  SECTION("a circle is no endless one") {
    subtree.started({2, 5});
    subtree.started({3, 3});
    CHECK(subtree.all_below(2).size() == 4);
  }
  SECTION("a link is up when all have answered") {
    for (const std::uint32_t host : {1U, 2U, 3U, 4U, 5U}) subtree.answered(host);
    CHECK_FALSE(subtree.is_up(1));
    subtree.answered(6);
    CHECK(subtree.is_up(1));
  }
}

TEST_CASE("processes that are moved are found, counted and split where they are", "[subtree]") {
  Subtree subtree = make_subtree();
  subtree.bind(3, 1);
  subtree.bind(5, 2);
  subtree.bind(9, 3);
  using Ranges = std::vector<wire::ProcessSet::Range>;
  subtree.moved({5, 11, 2});   // below us, to another link
  subtree.moved({77, 20, 1});  // away
  subtree.moved({9, 40, 1});   // from elsewhere
  CHECK(subtree.processes() == 9);
  CHECK(subtree.route(10) == LinkId{1});
  CHECK(subtree.route(11) == LinkId{2});
  CHECK(subtree.route(12) == LinkId{2});
  CHECK(subtree.route(13) == LinkId{1});
  CHECK_FALSE(subtree.route(20));
  CHECK(subtree.route(40) == LinkId{3});
  CHECK(subtree.processes_below(1) == Ranges{{10, 10}, {13, 13}});
  CHECK(subtree.processes_below(2) == Ranges{{11, 12}, {14, 15}});
  CHECK(subtree.processes_below(3) == Ranges{{21, 22}, {40, 40}});
  const auto parts = subtree.split({{0, UINT32_MAX}});
  REQUIRE(parts.size() == 3);
  for (const auto& [link, ranges] : parts) CHECK(ranges == subtree.processes_below(link));
  CHECK(subtree.owns_processes(2, {11, 12}));
  CHECK_FALSE(subtree.owns_processes(1, {10, 13}));
  CHECK_FALSE(subtree.owns_process(1, 11));
  CHECK(subtree.has_owned_process(1, 11));
  CHECK(subtree.has_owned_process(2, 11));
  CHECK_FALSE(subtree.has_owned_process(3, 11));
  CHECK(subtree.most_processes_of(1) == 4);
  CHECK(subtree.most_processes_of(2) == 4);
  CHECK(subtree.lowest_process(2) == 11);
  CHECK(subtree.lowest_process() == 10);

  SECTION("they move on") {
    subtree.moved({3, 12, 1});
    CHECK(subtree.route(12) == LinkId{1});
    CHECK(subtree.processes_below(2) == Ranges{{11, 11}, {14, 15}});
    CHECK(subtree.has_owned_process(2, 12));
  }
  SECTION("the next run begins as the first") {
    subtree.begin_run(false, false);
    CHECK(subtree.route(11) == LinkId{1});
    CHECK(subtree.route(20) == LinkId{3});
    CHECK_FALSE(subtree.route(40));
    CHECK(subtree.processes() == 9);
    CHECK(subtree.most_processes_of(1) == 4);
  }
  SECTION("nobody waits for tuples from a host that has none left") {
    subtree.registered(5);
    subtree.registered(9);
    CHECK_FALSE(subtree.all_registered());
    subtree.moved({77, 10, 1});
    subtree.moved({77, 13, 1});
    CHECK(subtree.all_registered());
  }
}

TEST_CASE("after processes have got new numbers a child may finish what it said under the old ones",
          "[subtree]") {
  Subtree subtree;
  for (std::uint32_t i = 0; i < 2; ++i) {
    Host host;
    host.index = i + 1;
    host.first_process = 2 * i;
    host.processes = 2;
    subtree.add(host);
    subtree.bind(host.index, LinkId{i + 1});
  }
  subtree.renumber();
  subtree.give({1, 0, 1});
  subtree.give({2, 1, 2});
  CHECK(subtree.has_owned_process(1, 0));
  CHECK(subtree.has_owned_process(1, 1));  // before
  CHECK_FALSE(subtree.has_owned_process(1, 2));
  CHECK_FALSE(subtree.owns_process(1, 1));
  CHECK(subtree.has_owned_process(2, 1));
  CHECK(subtree.has_owned_process(2, 3));  // before
  CHECK_FALSE(subtree.has_owned_process(2, 4));
  CHECK_FALSE(subtree.has_owned_process(2, 0));
  subtree.begin_run(true, false);  // links are empty then
  for (std::uint32_t process = 0; process < 4; ++process) CHECK_FALSE(subtree.has_owned_process(1, process));
}

}  // namespace charmtree::subtree_test
