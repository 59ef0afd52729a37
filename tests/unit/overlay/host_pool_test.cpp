// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/host_pool.hpp"

#include <catch2/catch.hpp>
#include <numeric>

namespace charmtree::host_pool_test {

using namespace charmtree::proto;

namespace {

std::vector<Host> make_hosts(std::uint32_t count, std::uint32_t first = 0) {
  std::vector<Host> hosts(count);
  for (std::uint32_t i = 0; i < count; ++i) hosts[i].index = first + i;
  return hosts;
}

std::vector<std::uint32_t> indices(const std::vector<Host>& hosts) {
  std::vector<std::uint32_t> all;
  for (const Host& host : hosts) all.push_back(host.index);
  return all;
}

/// Starts everything from a pool, recursively; `order` gets each host once. Returns the depth below.
std::uint32_t start_all(const wire::Shape& shape, std::uint32_t level, std::vector<Host> hosts,
                        std::vector<std::uint32_t>& order) {
  HostPool pool{shape, level};
  pool.add(std::move(hosts));
  std::uint32_t deepest = 0;
  while (auto host = pool.take()) {
    order.push_back(host->index);
    deepest = std::max(deepest, 1 + start_all(shape, level + 1, pool.share(host->index), order));
  }
  return deepest;
}

}  // namespace

TEST_CASE("the shape: what is given wins, the default is two levels", "[pool]") {
  CHECK(choose_shape(16, 0, 0) == wire::Shape{4, 2});
  CHECK(choose_shape(17, 0, 0) == wire::Shape{5, 2});
  CHECK(choose_shape(1, 0, 0) == wire::Shape{1, 2});
  CHECK(choose_shape(27, 0, 3) == wire::Shape{3, 3});
  CHECK(choose_shape(28, 0, 3) == wire::Shape{4, 3});
  CHECK(choose_shape(1000, 4, 0) == wire::Shape{4, 0});
  CHECK(choose_shape(1000, 4, 2) == wire::Shape{4, 2});
  CHECK(choose_shape(4'000'000'000U, 0, 1).branching == 4'000'000'000U);
  CHECK(choose_shape(4'000'000'000U, 0, 40).branching == 2);
}

TEST_CASE("a tree of K and D holds K + ... + K^D hosts before it widens", "[pool]") {
  CHECK_FALSE(widens({4, 2}, 20));
  CHECK(widens({4, 2}, 21));
  CHECK_FALSE(widens({4, 0}, 1'000'000));
  CHECK_FALSE(widens({2, 64}, UINT32_MAX));
  CHECK(widens({1, 3}, 4));
}

TEST_CASE("every shape hands out every host once, within its depth", "[pool]") {
  for (std::uint32_t count = 1; count <= 60; ++count) {
    for (const wire::Shape shape :
         {wire::Shape{1, 0}, {2, 0}, {4, 0}, {1, 2}, {2, 2}, {4, 1}, choose_shape(count, 0, 0)}) {
      CAPTURE(count, shape.branching, shape.levels);
      std::vector<std::uint32_t> order, all(count);
      std::iota(all.begin(), all.end(), 0);
      const std::uint32_t deepest = start_all(shape, 0, make_hosts(count), order);
      CHECK(order == all);  // depth first, in list order
      if (shape.levels != 0) CHECK(deepest <= shape.levels);
    }
  }
}

TEST_CASE("parts are contiguous and differ by one host at most", "[pool]") {
  HostPool pool{{3, 0}, 0};
  pool.add(make_hosts(11));
  CHECK(pool.waiting() == 11);
  CHECK(pool.take()->index == 0);
  CHECK(pool.take()->index == 4);
  CHECK(pool.take()->index == 8);
  CHECK_FALSE(pool.take());
  CHECK(pool.empty());
  CHECK(pool.waiting() == 8);  // bound to nobody yet
  CHECK(indices(pool.share(4)) == std::vector<std::uint32_t>{5, 6, 7});
  CHECK(pool.share(4).empty());
  CHECK(indices(pool.share(8)) == std::vector<std::uint32_t>{9, 10});
}

TEST_CASE("the share of a host that failed goes to the next, whole and in order", "[pool]") {
  HostPool pool{{2, 0}, 0};
  pool.add(make_hosts(8));
  pool.take();
  pool.failed(0);
  const auto heir = pool.take();
  CHECK(heir->index == 1);
  CHECK(indices(pool.share(1)) == std::vector<std::uint32_t>{2, 3});
  pool.failed(1);  // has answered: its share is its own
  CHECK(pool.take()->index == 4);
  pool.failed(4);
  pool.failed(99);
  CHECK(pool.waiting() == 3);
}

TEST_CASE("a single host has nobody below it", "[pool]") {
  HostPool pool{{2, 0}, 0};
  pool.add_single(make_hosts(1, 7).front());
  CHECK(pool.take()->index == 7);
  CHECK(pool.share(7).empty());
  pool.add(make_hosts(4));
  pool.clear();
  CHECK(pool.empty());
}

TEST_CASE("late binding: nobody has a share until it is split off, from the end", "[pool]") {
  HostPool pool{{}, 0};
  CHECK(pool.is_late());
  pool.add(make_hosts(6));
  CHECK(pool.take()->index == 0);
  CHECK(pool.share(0).empty());
  CHECK(pool.left() == 5);
  CHECK(indices(pool.split(2)) == std::vector<std::uint32_t>{4, 5});
  pool.failed(0);  // nothing was bound to it
  pool.add(make_hosts(1, 9));
  CHECK(indices(pool.split(100)) == std::vector<std::uint32_t>{1, 2, 3, 9});
  CHECK(pool.split(1).empty());
  CHECK(pool.empty());
  pool.add_single(make_hosts(1, 7).front());
  CHECK(pool.split(1).empty());  // a single host is started from here
  CHECK(pool.take()->index == 7);
}

TEST_CASE("late binding: names of one machine stay together", "[pool]") {
  std::vector<Host> hosts = make_hosts(8);
  hosts[1].machine = hosts[6].machine = hosts[7].machine = 1;
  hosts[3].machine = hosts[5].machine = 2;
  HostPool pool{{}, 0};
  pool.add(std::move(hosts));  // 0 1 6 7 2 3 5 4
  SECTION("a cut goes in front of them") {
    CHECK(indices(pool.split(2)) == std::vector<std::uint32_t>{3, 5, 4});
  }
  SECTION("but those of the first machine are begun here") {
    pool.take();
    CHECK(indices(pool.split(6)) == std::vector<std::uint32_t>{2, 3, 5, 4});
    CHECK(pool.split(1).empty());
    CHECK(pool.left() == 3);
  }
  SECTION("all are all") {
    CHECK(pool.split(100).size() == 8);
  }
}

}  // namespace charmtree::host_pool_test
