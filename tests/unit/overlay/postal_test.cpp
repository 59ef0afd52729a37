// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/postal.hpp"

#include <catch2/catch.hpp>

namespace charmtree::postal_test {

using namespace charmtree::proto;

namespace {
double bound(const Postal& postal, std::uint64_t hosts) {
  return seconds(PostalCurve{postal}.bound(hosts));
}
}  // namespace

TEST_CASE("the bound is that of the postal model", "[postal]") {
  const Postal libssh2;
  CHECK(bound(libssh2, 1) == Approx(0.25));
  CHECK(bound(libssh2, 2) == Approx(0.2524));
  CHECK(bound(libssh2, 100) == Approx(0.25 + 99 * 0.0024));  // flat is best up to latency / occupancy
  CHECK(bound(libssh2, 256) == Approx(0.54).margin(0.005));  // docs/DESIGN.md, 4
  CHECK(bound(libssh2, 1024) == Approx(0.60).margin(0.005));
  CHECK(bound(libssh2, 10'000) == Approx(0.80).margin(0.005));
  CHECK(bound(libssh2, 100'000) == Approx(0.94).margin(0.005));
  CHECK(bound(libssh2, 1'000'000) == Approx(1.12).margin(0.005));
  CHECK(bound({18ms, 250ms}, 10'000) == Approx(1.29).margin(0.01));
  CHECK(bound({200ms, 450ms}, 10'000) == Approx(4.35).margin(0.05));
}

TEST_CASE("latency equal to occupancy: the binomial tree", "[postal]") {
  const Postal telephone{10ms, 10ms};
  CHECK(bound(telephone, 1023) == Approx(0.1));
  CHECK(bound(telephone, 1024) == Approx(0.11));
  CHECK(bound({1ns, 1ns}, 100) > 0);  // nonsense is survived
}

TEST_CASE("what is not known is assumed, what cannot be is not believed", "[postal]") {
  CHECK(believable(0ms, 0ms).occupancy == Postal{}.occupancy);
  CHECK(believable(0ms, 0ms).latency == Postal{}.latency);
  CHECK(believable(3ms, 300ms).occupancy == 3ms);
  CHECK(believable(3ms, 300ms).latency == 300ms);
  CHECK(believable(1ns, 1ns).occupancy == 500us);
  CHECK(believable(1ns, 1ns).latency == 5ms);
  CHECK(believable(1h, 1h).occupancy == 1s);
  CHECK(believable(1h, 1h).latency == 10s);
  CHECK(believable(-1s, -1s).latency == Postal{}.latency);
}

TEST_CASE("two who are alike share alike, and those on their way count for less", "[postal]") {
  PostalCurve curve{Postal{}};
  CHECK(curve.share(0, {}) == 0);
  CHECK(curve.share(1, {}) == 0);
  CHECK(curve.share(100, {}) == 50);
  CHECK(curve.share(1'000'000, {}) == 500'000);
  CHECK(curve.share(100, {0ms, 0ms}) == 25);
  CHECK(curve.share(100, {250ms, 250ms, 250ms}) == 50);  // too late to be of any help
  std::vector<Duration> steady;
  for (int i = 0; i < 104; ++i) steady.push_back(i * 2400us);
  CHECK(curve.share(10'000, steady) == Approx(330).margin(40));
}

}  // namespace charmtree::postal_test
